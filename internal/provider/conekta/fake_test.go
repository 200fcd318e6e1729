package conekta

import (
	"crypto"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const testKey = "key_eYvWV7gSDkNYXsmr"

// fake is Conekta with the books of one account.
type fake struct {
	providertest.Frame[*entry]
	cash   []string  // which references cash orders get
	blind  bool      // the search of charges finds no id
	now    time.Time // Conekta's clock
	late   bool      // nothing new is in lists yet
	slow   bool      // an order does not show new refunds yet
	serial int64
}

type entry struct {
	providertest.Entry
	id       string
	status   any // payment_status
	hosted   bool
	kind     string // the charge's
	until    int64  // the page's
	months   []int  // of the page
	updated  int64
	made     time.Time
	given    []time.Time              // when each refund was made
	panel    map[int][]map[string]any // the refunds of each charge that were made in the panel
	before   map[string]any           // the order before its last refund
	metadata map[string]any
	charges  []map[string]any
}

func newFake() *fake {
	f := &fake{serial: 1000, cash: []string{"bbva_cash_in", "cash_in"}, now: providertest.Noon}
	f.Changed = f.changed
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(body []byte) (int, any) {
		w.Header().Set("Date", f.now.UTC().Format(http.TimeFormat))
		return f.answer(r, body)
	})
}

func (f *fake) answer(r *http.Request, body []byte) (int, any) {
	switch {
	case r.Header.Get("Authorization") != "Bearer "+testKey:
		return fail(http.StatusUnauthorized, "authentication_error", "conekta.errors.authentication.missing_key")
	case r.Method != http.MethodPost:
		return f.get(r)
	}
	return f.post(strings.Split(strings.Trim(r.URL.Path, "/"), "/"), body)
}

func fail(status int, kind, code string) (int, any) { return says(status, kind, code, kind) }

// says is an error with a sentence for developers.
func says(status int, kind, code, debug string) (int, any) {
	return status, map[string]any{
		"object": "error", "type": kind, "log_id": "641b6d073cd9a50001515007",
		"details": []map[string]any{{"code": code, "message": kind, "debug_message": debug}},
	}
}

func noOrder(id string) (int, any) {
	return says(http.StatusNotFound, "resource_not_found_error", "conekta.errors.resource_not_found.entity", fmt.Sprintf("The object Order %q could not be found.", id))
}

// get returns a list in pages, oldest last, or one order.
func (f *fake) get(r *http.Request) (int, any) {
	if id, one := strings.CutPrefix(r.URL.Path, "/orders/"); one {
		for _, e := range f.Charges {
			if e.id == id {
				return http.StatusOK, f.shows(e)
			}
		}
		return noOrder(id)
	}
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if r.URL.Path == "/charges" && err == nil && limit >= 1 && limit <= 250 {
		return f.search(q.Get("search"))
	}
	if r.URL.Path != "/orders" || err != nil || limit < 1 || limit > 250 {
		return fail(http.StatusUnprocessableEntity, "parameter_validation_error", "conekta.errors.parameter_validation.limit")
	}
	some, more, started := []map[string]any{}, false, q.Get("next") == ""
	for i := len(f.Charges) - 1; i >= 0; i-- {
		if !started {
			started = f.Charges[i].id == q.Get("next")
			continue
		}
		if f.late || !within(q.Get("created_at.gte"), q.Get("created_at.lte"), f.Charges[i].made) {
			continue
		}
		if len(some) == limit {
			more = true
			break
		}
		some = append(some, f.shows(f.Charges[i]))
	}
	list := map[string]any{"object": "list", "has_more": more, "data": some}
	if more {
		list["next_page_url"] = "https://elsewhere.test/orders?limit=250&next=" + fmt.Sprint(some[len(some)-1]["id"])
	}
	return http.StatusOK, list
}

// shows is an order as it is read.
func (f *fake) shows(e *entry) map[string]any {
	if f.slow && e.before != nil {
		return e.before
	}
	return e.json()
}

// within reports whether a time is between two Unix times; "" is no bound.
func within(from, to string, at time.Time) bool {
	least, err1 := strconv.ParseInt(from, 10, 64)
	most, err2 := strconv.ParseInt(to, 10, 64)
	return (from == "" || err1 == nil && at.Unix() >= least) && (to == "" || err2 == nil && at.Unix() <= most)
}

// search returns the charges with a word.
func (f *fake) search(word string) (int, any) {
	some := []map[string]any{}
	for _, e := range f.Charges {
		for _, c := range e.charges {
			if !f.blind && (c["id"] == word || c["reference_id"] == word) {
				some = append(some, c)
			}
		}
	}
	return http.StatusOK, map[string]any{"object": "list", "has_more": false, "data": some}
}

// post creates, refunds or cancels an order.
func (f *fake) post(path []string, body []byte) (int, any) {
	if len(path) == 1 && path[0] == "orders" {
		return f.create(body)
	}
	if len(path) != 3 || path[0] != "orders" {
		return fail(http.StatusNotFound, "resource_not_found_error", "conekta.errors.resource_not_found.entity")
	}
	for _, e := range f.Charges {
		if e.id != path[1] {
			continue
		}
		switch path[2] {
		case "refunds":
			return f.refund(e, body)
		case "cancel":
			if e.status != nil && e.status != "pending_payment" && e.status != "declined" {
				return fail(http.StatusPreconditionRequired, "precondition_required_error", "conekta.errors.precondition_required.order.paid")
			}
			e.set("canceled", "canceled")
			return http.StatusOK, e.json()
		}
	}
	return noOrder(path[1])
}

func (f *fake) create(body []byte) (int, any) {
	var q struct {
		Currency string `json:"currency"`
		Customer struct {
			Name, Email, Phone string
			Corporate          *bool
		} `json:"customer_info"`
		Items []struct {
			Name      string
			UnitPrice int64 `json:"unit_price"`
			Quantity  int64
			SKU       string
		} `json:"line_items"`
		Charges []struct {
			Amount int64
			Method struct {
				Type      string
				ExpiresAt int64  `json:"expires_at"`
				IP        string `json:"customer_ip_address"`
			} `json:"payment_method"`
			ReferenceID string `json:"reference_id"`
		} `json:"charges"`
		Checkout *struct {
			Type, Name string
			Allowed    []string `json:"allowed_payment_methods"`
			SuccessURL string   `json:"success_url"`
			FailureURL string   `json:"failure_url"`
			ExpiresAt  int64    `json:"expires_at"`
			Enabled    bool     `json:"monthly_installments_enabled"`
			Months     []int    `json:"monthly_installments_options"`
		} `json:"checkout"`
		Metadata map[string]any `json:"metadata"`
	}
	understood, sum := providertest.Strict(body, &q), int64(0)
	for _, item := range q.Items {
		if item.UnitPrice < 0 || item.Quantity < 1 { // product.yml
			sum = math.MinInt64
		}
		sum += item.UnitPrice * item.Quantity
	}
	bad := !understood || q.Currency != "MXN" || q.Customer.Name == "" || q.Customer.Phone == "" || q.Customer.Corporate == nil ||
		!strings.Contains(q.Customer.Email, "@") || sum < 1 ||
		(len(q.Charges) == 1) == (q.Checkout != nil)
	now := f.now.Unix()
	if !bad && q.Checkout != nil {
		bad = q.Checkout.Type != "HostedPayment" || len(q.Checkout.Allowed) != 1 || !providertest.IsPage(q.Checkout.SuccessURL) ||
			q.Checkout.ExpiresAt < now+600 || q.Checkout.ExpiresAt > now+365*86400
	}
	if !bad && len(q.Charges) == 1 {
		c := q.Charges[0]
		bad = c.Amount != sum || c.Method.ExpiresAt <= now || c.Method.Type != "spei" && c.Method.Type != "cash"
	}
	if bad {
		return fail(http.StatusUnprocessableEntity, "parameter_validation_error", "conekta.errors.parameter_validation.order")
	}
	f.serial++
	e := &entry{id: fmt.Sprintf("ord_%d", f.serial), metadata: q.Metadata, updated: now, made: f.now}
	e.Local = money.New(sum, money.MXN)
	e.Reference, _ = q.Metadata["cascada_reference"].(string)
	if q.Checkout != nil {
		if e.hosted, e.kind, e.until = true, "card", q.Checkout.ExpiresAt; q.Checkout.Enabled {
			e.months = q.Checkout.Months
		}
	} else {
		e.kind, e.status = q.Charges[0].Method.Type, "pending_payment"
		f.offer(e)
	}
	return http.StatusOK, f.Enter(e).json()
}

// offer adds what the shopper may pay to an order: of cash, one charge for each network.
func (f *fake) offer(e *entry) {
	if e.kind != "cash" {
		f.try(e, "pending_payment", "")
		return
	}
	for _, product := range f.cash {
		m := map[string]any{
			"object": "cash_payment", "type": "cash", "service_name": "Cash", "product_type": product, "agreement": nil, "reference": "10001140326893401915",
			"barcode_url": "https://barcodes.test/1.png", "store": nil, "auth_code": nil, "cashier_id": nil, "store_names": []string{"7 Eleven", "Farmacias del Ahorro", "CIRCLE K", "Soriana"},
		}
		switch product {
		case "bbva_cash_in":
			m["agreement"], m["reference"], m["store_names"] = "2409992", "10830309851141878231", []string{"BBVA ATM"}
		case "oxxo":
			m = oxxo()
		}
		f.try(e, "pending_payment", "")
		e.charges[len(e.charges)-1]["payment_method"] = m
	}
}

// oxxo is the reference of an older version, which the mock still has.
func oxxo() map[string]any {
	return map[string]any{
		"object": "cash_payment", "type": "oxxo", "service_name": "OxxoPay", "store_name": "OXXO", "reference": "93000262276908",
		"barcode_url": "https://barcodes.test/2.png", "store": nil, "auth_code": nil, "cashier_id": nil,
	}
}

// try adds a charge to an order.
func (f *fake) try(e *entry, status, failure string) {
	f.serial++
	methods := map[string]map[string]any{
		"spei": {"object": "bank_transfer_payment", "type": "spei", "clabe": "646180111805034237", "receiving_account_number": "646180111805034237", "receiving_account_bank": "STP"},
		"card": {"object": "card_payment", "type": "credit", "last4": "4242", "brand": "visa"},
	}
	c := map[string]any{
		"id": fmt.Sprintf("%08x%016x", e.made.Unix(), f.serial), "object": "charge", "amount": e.Local.Minor, "currency": "MXN", "status": status, "failure_code": nil,
		"created_at": f.serial, "livemode": false, "order_id": e.id, "payment_method": methods[e.kind], "refunds": nil,
	}
	if failure != "" {
		c["failure_code"] = failure
	}
	e.charges = append(e.charges, c)
}

// set changes the status of an order and its last charge, unless that was declined: it is over.
func (e *entry) set(order, charge string) {
	e.status = order
	e.updated++
	if n := len(e.charges); n > 0 && e.charges[n-1]["status"] != "declined" {
		e.charges[len(e.charges)-1]["status"] = charge
	}
}

func (e *entry) json() map[string]any {
	out := map[string]any{
		"id": e.id, "object": "order", "livemode": false, "amount": e.Local.Minor, "currency": "MXN", "payment_status": e.status,
		"updated_at": e.updated, "created_at": e.made.Unix(), "metadata": e.metadata, "charges": nil, "checkout": nil, "amount_refunded": int64(0),
	}
	if e.metadata == nil {
		out["metadata"] = map[string]any{}
	}
	for n, c := range e.charges {
		list, sum := e.refunds(n)
		if c["refunds"] = nil; len(list) > 0 {
			c["refunds"] = map[string]any{"object": "list", "has_more": false, "data": list}
		}
		out["amount_refunded"] = out["amount_refunded"].(int64) + sum
	}
	if len(e.charges) > 0 {
		out["charges"] = map[string]any{"object": "list", "has_more": false, "data": e.charges}
	}
	if e.hosted {
		out["checkout"] = map[string]any{
			"id": "6fca054a", "object": "checkout", "livemode": false, "name": e.Reference, "type": "HostedPayment", "status": "Issued",
			"expires_at": e.until, "url": "https://pay.conekta.test/checkout/" + e.id,
		}
	}
	return out
}

func (f *fake) refund(e *entry, body []byte) (int, any) {
	var q struct {
		Amount int64  `json:"amount"`
		Reason string `json:"reason"`
	}
	known := map[string]bool{"requested_by_client": true, "duplicated_transaction": true, "suspected_fraud": true, "other": true}
	if !providertest.Strict(body, &q) || !known[q.Reason] {
		return fail(http.StatusUnprocessableEntity, "parameter_validation_error", "conekta.errors.parameter_validation.refund")
	}
	e.before = providertest.Fields(providertest.JSON(e.json()))
	if !f.Give(e, "", money.New(q.Amount, money.MXN)) {
		return fail(http.StatusUnprocessableEntity, "parameter_validation_error", "conekta.errors.parameter_validation.order.not_refundable")
	}
	e.given = append(e.given, f.now)
	e.gave(e.first())
	return http.StatusOK, e.json()
}

// first is the charge of which an order's refunds are: which one that is, is not documented.
func (e *entry) first() int {
	return max(0, slices.IndexFunc(e.charges, func(c map[string]any) bool { return slices.Contains(paidWords, text(fmt.Sprint(c["status"]))) }))
}

// gave sets the status of an order of which a charge was refunded.
func (e *entry) gave(n int) {
	word := func(whole bool) string {
		if whole {
			return "refunded"
		}
		return "partially_refunded"
	}
	_, sum := e.refunds(n)
	e.charges[n]["status"] = word(sum == e.Local.Minor)
	e.status = word(!slices.ContainsFunc(e.charges, func(c map[string]any) bool { return c["status"] == "paid" || c["status"] == "partially_refunded" }))
	e.updated++
}

// giveBack refunds one of an order's charges in the panel.
func (f *fake) giveBack(reference string, n int, local money.Amount) {
	f.Lock()
	defer f.Unlock()
	e := f.Must(reference)
	if e.panel == nil {
		e.panel = map[int][]map[string]any{}
	}
	e.panel[n] = append(e.panel[n], map[string]any{
		"id": fmt.Sprintf("re_panel_%d_%d", n, len(e.panel[n])), "object": "refund", "amount": -local.Minor, "created_at": f.now.Unix(), "status": "refunded",
	})
	e.gave(n)
}

// refunds returns the refunds of a charge, oldest first, and their sum.
func (e *entry) refunds(n int) (list []map[string]any, sum int64) {
	for _, r := range e.panel[n] {
		list, sum = append(list, r), sum-r["amount"].(int64)
	}
	if n != e.first() {
		return list, sum
	}
	for n, r := range e.Refunds {
		status := map[providertest.Ending]string{
			"": "pending", providertest.Open: "pending", providertest.Paid: "refunded", providertest.Declined: "canceled", providertest.Nonsense: "quux",
		}[r.Ending]
		list = append(list, map[string]any{
			"id": fmt.Sprintf("re_%s_%d", e.id, n), "object": "refund", "amount": -r.Local.Minor, "created_at": e.given[n].Unix(), "status": status,
		})
		if sum += r.Local.Minor; status == "canceled" {
			sum -= r.Local.Minor
		}
	}
	return list, sum
}

// changed moves an order to its final status.
func (f *fake) changed(e *entry) {
	ending := e.Ending
	if ending == providertest.Open {
		return
	}
	if len(e.charges) == 0 && ending != providertest.Expired && ending != providertest.Nonsense {
		f.try(e, "pending_payment", "")
	}
	states := map[providertest.Ending]string{
		providertest.Paid: "paid", providertest.WrongAmount: "paid", providertest.WrongCurrency: "paid", providertest.Declined: "declined",
		providertest.SoftDeclined: "declined", providertest.Expired: "expired", providertest.Disputed: "charged_back", providertest.Nonsense: "quux",
	}
	own := states[ending]
	if ending == providertest.Disputed {
		own = "paid" // and it shows a chargeback
	}
	e.set(states[ending], own)
	if len(e.charges) == 0 {
		return
	}
	c := e.charges[len(e.charges)-1]
	switch ending {
	case providertest.Disputed:
		c["chargeback"] = chargebackOf(c, "action_required")
	case providertest.WrongAmount:
		c["amount"] = e.Local.Minor + 1
	case providertest.WrongCurrency:
		c["currency"] = "USD"
	case providertest.Declined:
		c["failure_code"] = "conekta.errors.processing.bank.insufficient_funds"
	case providertest.SoftDeclined:
		c["failure_code"] = "card_declined"
	}
}

// due is until when the fake waits for evidence.
var due = providertest.Noon.Add(5 * 24 * time.Hour)

// chargebackOf is the chargeback of a charge. It has no amount, and names no order.
func chargebackOf(c map[string]any, status string) map[string]any {
	return map[string]any{
		"id": fmt.Sprint("chbk_", c["id"]), "object": "chargeback", "status": status, "reason": "product_not_received", "note": nil,
		"followup_status": nil, "response_from_client": nil, "files": []any{}, "charge_id": c["id"],
		"created_at": providertest.Noon.Unix(), "evidence_due_by": due.Unix(),
	}
}

// contest gives an order's last charge a chargeback, and returns its event.
func (f *fake) contest(reference, stage, status string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	e := f.Must(reference)
	c := e.charges[len(e.charges)-1]
	c["chargeback"] = chargebackOf(c, status)
	e.updated++
	f.serial++
	return event(fmt.Sprint(f.serial), "charge.chargeback."+stage, chargebackOf(c, status))
}

func (f *fake) Notification(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	e := f.Must(reference)
	f.serial++
	kind := fmt.Sprint("order.", e.status)
	if e.Ending == providertest.Nonsense {
		kind = "order.updated"
	}
	return event(fmt.Sprint(f.serial), kind, e.json())
}

// event returns an event as it is sent.
func event(id, kind string, object map[string]any) provider.Notification {
	return sign(providertest.JSON(map[string]any{
		"id": id, "object": "event", "type": kind, "livemode": false, "created_at": providertest.Noon.Unix(),
		"webhook_status": "pending", "data": map[string]any{"object": object, "previous_attributes": map[string]any{}},
	}))
}

func sign(body []byte) provider.Notification {
	return providertest.Notify("application/json", body, "Digest", providertest.Signed(crypto.SHA256, body))
}

// RefundNotification does not name its refund.
func (f *fake) RefundNotification(string, int) (n provider.Notification) { return n }
