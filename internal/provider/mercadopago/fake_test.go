package mercadopago

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const (
	testToken  = "APP_USR-1234567890-072010-abcdef-1"
	testSecret = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
	sellerID   = 543802539
)

// fake is Mercado Pago with the books of one account, which is in every country at
// once.
type fake struct {
	providertest.Frame[*charge]
	serial   int64
	minutes  int                       // of the clock of payments
	bare     bool                      // refunds do not return metadata
	stale    bool                      // searches find no payments yet
	unlisted bool                      // searches find no preferences yet
	fails    int                       // the cause of the error that every post is answered with
	barred   bool                      // the token may not search for chargebacks, nor read claims
	cases    map[string]any            // what chargebacks have of it in place of the usual
	decided  map[string]map[string]any // and what one has, by its id
	papers   papers                    // the documents of chargebacks
}

// charge is a payment, or a preference with the payments made on it.
type charge struct {
	providertest.Entry
	page     map[string]any // the preference's
	payments []*paid
	totals   []any // of each refund: what its metadata have of it

	described any // what the payment is for
}

type paid struct {
	f              *fake
	of             *charge
	id             int64
	reference      string
	status, detail string
	amount         money.Amount
	method         string
	version        int
	made, approved string // when
	backs          []int  // its refunds, by their place among the charge's

	count int          // of installments
	total money.Amount // with interest
}

func newFake() *fake {
	f := &fake{serial: 5_000_000_000}
	f.Changed = f.changed
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(text []byte) (int, any) { return f.answer(r, text) })
}

func (f *fake) answer(r *http.Request, text []byte) (int, any) {
	if r.Header.Get("Authorization") != "Bearer "+testToken {
		return fail(http.StatusUnauthorized, "unauthorized", 401)
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/documentation") {
		return f.takePapers(r, parts[2], text)
	}
	body := providertest.Fields(text)
	if r.Method != http.MethodGet && (r.Header.Get("Content-Type") != "application/json" || body == nil) {
		return fail(http.StatusBadRequest, "bad_request", 1)
	}
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/v1/payment_methods":
		return http.StatusOK, []map[string]any{{"id": "pix", "payment_type_id": "bank_transfer", "status": "active"}}
	case strings.HasPrefix(r.URL.Path, "/v1/payments"):
		return f.payment(r, parts[2:], body)
	case strings.HasPrefix(r.URL.Path, "/checkout/preferences"):
		return f.preference(r, parts[2:], body)
	case r.Method == http.MethodGet && r.URL.Path == "/v1/chargebacks/search":
		return f.chargebacks(r.URL.Query())
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/chargebacks/"):
		return f.chargeback(parts[2])
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/post-purchase/v1/claims/"):
		return f.claim(parts[3])
	}
	return unrouted, map[string]any{"message": "resource not found", "error": "not_found", "status": unrouted}
}

// unrouted is the status of the answer to a path that there is not: it names no object.
const unrouted = http.StatusNotFound

func fail(status int, word string, code int) (int, any) {
	return status, map[string]any{
		"message": word, "error": word, "status": status, "cause": []map[string]any{{"code": code, "description": word}},
	}
}

// keyed answers a repeated call like the first one, and refuses a call without a key.
func (f *fake) keyed(r *http.Request, do func() (int, any)) (int, any) {
	key := r.Header.Get("X-Idempotency-Key")
	if len(key) != 36 {
		return fail(http.StatusBadRequest, "header x-idempotency-key can't be null", 4292)
	}
	if f.fails != 0 {
		return fail(http.StatusBadRequest, "bad_request", f.fails)
	}
	return f.Once(key+r.URL.Path, "", do)
}

func (f *fake) payment(r *http.Request, path []string, body map[string]any) (int, any) {
	switch {
	case r.Method == http.MethodPost && len(path) == 0:
		return f.keyed(r, func() (int, any) { return f.create(body) })
	case r.Method == http.MethodGet && len(path) == 1 && path[0] == "search":
		return f.search(r.URL.Query())
	case len(path) == 0:
		return fail(http.StatusMethodNotAllowed, "method_not_allowed", 0)
	}
	p := f.find(path[0])
	switch {
	case p == nil:
		return fail(http.StatusNotFound, "Payment not found", 2000)
	case r.Method == http.MethodGet && len(path) == 1:
		return http.StatusOK, f.show(p)
	case r.Method == http.MethodPut && len(path) == 1:
		if body["status"] != "cancelled" || p.status != "pending" && p.status != "in_process" {
			return fail(http.StatusBadRequest, "bad_request", 3005)
		}
		p.set("cancelled", "by_collector")
		return http.StatusOK, f.show(p)
	case r.Method == http.MethodPost && len(path) == 2 && path[1] == "refunds":
		return f.keyed(r, func() (int, any) { return f.refund(p, body) })
	case r.Method == http.MethodGet && len(path) == 2 && path[1] == "refunds":
		return http.StatusOK, f.refunds(p)
	case r.Method == http.MethodGet && len(path) == 3 && path[1] == "refunds":
		for _, back := range f.refunds(p) {
			if fmt.Sprint(back["id"]) == path[2] {
				return http.StatusOK, back
			}
		}
		return fail(http.StatusNotFound, "Refund not found", 2032)
	}
	return fail(http.StatusMethodNotAllowed, "method_not_allowed", 0)
}

// siteOf returns the currency of the country that has the method.
var siteOf = map[string]money.Currency{
	"pix": "BRL", "clabe": "MXN", "oxxo": "MXN", "bancomer": "MXN", "banamex": "MXN", "paycash": "MXN", "rapipago": "ARS",
	"pagofacil": "ARS", "efecty": "COP", "pagoefectivo_atm": "PEN", "abitab": "UYU", "redpagos": "UYU",
}

func (f *fake) create(body map[string]any) (int, any) {
	reference, _ := body["external_reference"].(string)
	payer, _ := body["payer"].(map[string]any)
	method, _ := body["payment_method_id"].(string)
	units, isNumber := body["transaction_amount"].(json.Number)
	site, known := siteOf[method]
	email, _ := payer["email"].(string)
	until, _ := body["date_of_expiration"].(string)
	if !known || !isNumber || reference == "" || !strings.Contains(email, "@") {
		return fail(http.StatusBadRequest, "bad_request", 4037)
	}
	local, err := money.Parse(units.String(), site)
	if err != nil || !local.IsPositive() {
		return fail(http.StatusBadRequest, "invalid transaction_amount", 4037)
	}
	if centavos(local) {
		return fail(http.StatusBadRequest, "Prices in COP currency must be expressed with integer values", 0)
	}
	least := map[string]time.Duration{"pix": 30 * time.Minute}[method]
	if least == 0 {
		least = 24 * time.Hour
	}
	t, err := time.Parse("2006-01-02T15:04:05.000-07:00", until)
	late := err != nil || t.Before(providertest.Noon.Add(least)) || t.After(providertest.Noon.Add(30*24*time.Hour))
	if until != "" && late {
		return fail(http.StatusBadRequest, "invalid date_of_expiration", 4050)
	}
	c := &charge{Entry: providertest.Entry{Reference: reference, Local: local}, described: body["description"]}
	f.try(c, method)
	return http.StatusCreated, f.show(f.Enter(c).payments[0])
}

// centavos reports whether an amount has some in a currency whose prices are whole.
func centavos(local money.Amount) bool { return local.Currency == money.COP && local.Minor%100 != 0 }

// try adds a payment to a charge.
func (f *fake) try(c *charge, method string) *paid {
	f.serial++
	p := &paid{f: f, of: c, id: f.serial, reference: c.Reference, status: "pending", detail: "pending_waiting_transfer", amount: c.Local, method: method, made: f.now()}
	c.payments = append(c.payments, p)
	return p
}

// now is the time, a minute later each time.
func (f *fake) now() string {
	f.minutes++
	return providertest.Noon.Add(time.Duration(f.minutes) * time.Minute).Format("2006-01-02T15:04:05.000-07:00")
}

func (p *paid) set(status, detail string) *paid {
	if p.status, p.detail, p.version = status, detail, p.version+1; status == "approved" && p.approved == "" {
		p.approved = p.f.now()
	}
	return p
}

func (f *fake) show(p *paid) map[string]any {
	ticket := fmt.Sprintf("https://www.mercadopago.test/payments/%d/ticket?hash=a", p.id)
	out := map[string]any{
		"id": p.id, "collector_id": sellerID, "external_reference": p.reference, "status": p.status, "status_detail": p.detail, "payment_method_id": p.method,
		"currency_id": p.amount.Currency, "transaction_amount": json.Number(p.amount.Decimal()), "live_mode": true,
		"date_last_updated": fmt.Sprintf("2026-11-21T12:00:%02d.000-04:00", p.version), "order": map[string]any{}, "card": map[string]any{},
		"date_created": p.made, "date_approved": nil,
		"transaction_details": map[string]any{"external_resource_url": nil, "payment_method_reference_id": nil},
		"refunds":             f.refunds(p), "transaction_amount_refunded": json.Number(money.New(p.amount.Minor-p.left(), p.amount.Currency).Decimal()),
	}
	if p.approved != "" {
		out["date_approved"] = p.approved
	}
	if p.count > 1 {
		out["installments"] = p.count
	}
	if p.of.page != nil {
		out["order"] = map[string]any{"type": "mercadopago", "id": "3754501423"}
	}
	switch p.method {
	case "pix":
		out["point_of_interaction"] = map[string]any{"transaction_data": map[string]any{
			"qr_code": "00020126580014br.gov.bcb.pix", "qr_code_base64": "iVBO", "ticket_url": ticket,
		}}
	case "clabe":
		out["payment_method"] = map[string]any{"id": "clabe", "data": map[string]any{
			"reference_id": "6410293433784980810", "external_resource_url": ticket,
		}}
	default:
		out["transaction_details"] = map[string]any{
			"external_resource_url": ticket, "payment_method_reference_id": "1234567890", "barcode": map[string]any{"content": "3335008800000000"},
		}
	}
	if p.count > 1 {
		details := out["transaction_details"].(map[string]any)
		details["installment_amount"], details["total_paid_amount"] = json.Number(installment.Each(p.total, p.count).Decimal()), json.Number(p.total.Decimal())
	}
	return out
}

func (f *fake) find(id string) *paid {
	for _, c := range f.Charges {
		for _, p := range c.payments {
			if strconv.FormatInt(p.id, 10) == id {
				return p
			}
		}
	}
	return nil
}

func (f *fake) search(q url.Values) (int, any) {
	limit, err := strconv.Atoi(q.Get("limit"))
	offset, err2 := strconv.Atoi(q.Get("offset"))
	if q.Get("sort") != "date_created" || q.Get("criteria") != "desc" || err != nil || err2 != nil {
		return fail(http.StatusBadRequest, "bad_request", 1003)
	}
	var all []map[string]any
	for _, c := range f.Charges {
		for _, p := range c.payments {
			if p.reference == q.Get("external_reference") && !f.stale {
				all = append([]map[string]any{f.show(p)}, all...)
			}
		}
	}
	some := []map[string]any{}
	for i := offset; i < len(all) && i < offset+limit; i++ {
		some = append(some, all[i])
	}
	return http.StatusOK, map[string]any{
		"paging": map[string]any{"total": len(all), "limit": limit, "offset": offset}, "results": some,
	}
}

func (f *fake) refund(p *paid, body map[string]any) (int, any) {
	units, isNumber := body["amount"].(json.Number)
	back, err := money.Parse(units.String(), p.amount.Currency)
	meta, _ := body["metadata"].(map[string]any)
	reference, _ := meta["reference"].(string)
	switch {
	case !isNumber || err != nil || !back.IsPositive() || centavos(back):
		return fail(http.StatusBadRequest, "amount attribute must be positive", 4040)
	case f.Refusing || p.status != "approved" || back.Minor > p.left() || back.Currency != p.amount.Currency:
		return fail(http.StatusBadRequest, "the action requested is not valid for the current payment state", 2063)
	}
	p.version++
	p.of.Refunds = append(p.of.Refunds, providertest.Refund{Reference: reference, Local: back})
	p.backs, p.of.totals = append(p.backs, len(p.of.Refunds)-1), append(p.of.totals, meta["total"])
	list := f.refunds(p)
	return http.StatusCreated, list[len(list)-1]
}

// left is what was not given back of a payment, in minor units.
func (p *paid) left() int64 {
	left := p.amount.Minor
	for _, n := range p.backs {
		left -= p.of.Refunds[n].Local.Minor
	}
	return left
}

// holds reports whether a refund of the charge is this payment's: those of the panel are the last one's.
func (p *paid) holds(n int) bool {
	for _, other := range p.of.payments {
		if slices.Contains(other.backs, n) {
			return other == p
		}
	}
	return p == p.of.payments[len(p.of.payments)-1]
}

// refunds returns the refunds of a payment.
func (f *fake) refunds(p *paid) []map[string]any {
	list := []map[string]any{}
	for n, r := range p.of.Refunds {
		if !p.holds(n) {
			continue
		}
		status := map[providertest.Ending]string{
			"": "approved", providertest.Paid: "approved", providertest.Open: "in_process", providertest.Declined: "rejected", providertest.Nonsense: "quux",
		}[r.Ending]
		one := map[string]any{
			"id": p.id*100 + int64(n), "payment_id": p.id, "amount": json.Number(r.Local.Decimal()), "status": status,
			"date_created": providertest.Noon.Add(time.Duration(n)*time.Minute + 30*time.Second).Format(time.RFC3339),
			"metadata":     map[string]any{"reference": r.Reference}, "source": map[string]any{"id": "1", "name": "shop", "type": "collector"},
			"unique_sequence_number": nil,
		}
		if n < len(p.of.totals) && p.of.totals[n] != nil {
			one["metadata"].(map[string]any)["total"] = p.of.totals[n]
		}
		if f.bare {
			one["metadata"] = map[string]any{}
		}
		list = append(list, one)
	}
	return list
}

func (f *fake) preference(r *http.Request, path []string, body map[string]any) (int, any) {
	switch {
	case r.Method == http.MethodPost && len(path) == 0:
		local, ok := checkPage(body)
		if !ok {
			return fail(http.StatusBadRequest, "invalid_items", 0)
		}
		f.serial++
		id := fmt.Sprintf("123456-%d-ab", f.serial)
		body["id"], body["init_point"] = id, "https://www.mercadopago.test/checkout/v1/redirect?pref_id="+id
		reference, _ := body["external_reference"].(string)
		c := &charge{Entry: providertest.Entry{Reference: reference, Local: local, Ending: providertest.Open}, page: body}
		f.Charges = append(f.Charges, c) // whatever follows: nobody has tried to pay yet
		return http.StatusCreated, body
	case r.Method == http.MethodGet && len(path) == 1 && path[0] == "search":
		return f.pages(r.URL.Query())
	case len(path) != 1:
		return fail(http.StatusMethodNotAllowed, "method_not_allowed", 0)
	}
	at := slices.IndexFunc(f.Charges, func(c *charge) bool { return c.page != nil && c.page["id"] == path[0] })
	if at < 0 {
		return fail(http.StatusNotFound, "not_found", 0)
	}
	page := f.Charges[at].page
	if r.Method == http.MethodPut {
		if _, ok := checkPage(body); !ok {
			return fail(http.StatusBadRequest, "invalid_items", 0)
		}
		page["expires"], page["expiration_date_to"] = body["expires"], body["expiration_date_to"]
	}
	return http.StatusOK, page
}

// pages is a search for preferences, in the form of the SDKs' answers: of a page's items it has the titles alone, and neither the
// address nor most of what the page was made with.
func (f *fake) pages(q url.Values) (int, any) {
	var some []any // null if there is none
	for _, c := range f.Charges {
		if c.page == nil || c.Reference != q.Get("external_reference") || f.unlisted {
			continue
		}
		titles := []any{}
		for _, it := range c.page["items"].([]any) {
			titles = append(titles, it.(map[string]any)["title"])
		}
		some = append(some, map[string]any{
			"id": c.page["id"], "client_id": "6245132082630004", "collector_id": 823549964, "concept_id": nil, "corporation_id": "",
			"date_created": "2026-11-21T08:00:00.000-04:00", "expiration_date_from": nil, "expiration_date_to": c.page["expiration_date_to"],
			"expires": c.page["expires"], "external_reference": c.Reference, "integrator_id": "", "items": titles, "last_updated": nil,
			"live_mode": true, "marketplace": "NONE", "operation_type": "regular_payment", "payer_email": "", "payer_id": nil,
			"platform_id": "", "processing_modes": nil, "product_id": "", "purpose": "", "site_id": "MLB", "sponsor_id": 0, "shipping_mode": "none",
		})
	}
	return http.StatusOK, map[string]any{"elements": some, "next_offset": len(some), "total": len(some)}
}

// checkPage reads the total of a preference, and reports whether it is valid.
func checkPage(body map[string]any) (money.Amount, bool) {
	items, _ := body["items"].([]any)
	if len(items) != 1 {
		return money.Amount{}, false
	}
	it, _ := items[0].(map[string]any)
	currency, _ := it["currency_id"].(string)
	price, isNumber := it["unit_price"].(json.Number)
	c, err := money.ParseCurrency(currency)
	if err != nil || !isNumber || it["title"] == "" || it["quantity"] != json.Number("1") {
		return money.Amount{}, false
	}
	local, err := money.Parse(price.String(), c)
	back, _ := body["back_urls"].(map[string]any)
	_, dated := body["expiration_date_to"].(string)
	good := err == nil && local.IsPositive() && !centavos(local) && body["auto_return"] == "approved" && providertest.IsPage(back["success"]) && dated
	return local, good
}

// changed moves a charge to its final status. A page that ends unpaid is closed.
func (f *fake) changed(c *charge) {
	e := c.Ending
	if c.page != nil && (e == providertest.Expired || e == providertest.Declined || e == providertest.SoftDeclined) {
		c.page["expiration_date_to"] = providertest.Noon.Add(-time.Second).Format(time.RFC3339)
	}
	if e == providertest.Open || e == providertest.Expired && c.page != nil {
		return
	}
	if len(c.payments) == 0 {
		f.try(c, "visa")
	}
	p := c.payments[len(c.payments)-1]
	states := map[providertest.Ending][2]string{
		providertest.Paid: {"approved", "accredited"}, providertest.WrongAmount: {"approved", "accredited"},
		providertest.WrongCurrency: {"approved", "accredited"}, providertest.Declined: {"rejected", "cc_rejected_insufficient_amount"},
		providertest.SoftDeclined: {"rejected", "cc_rejected_other_reason"}, providertest.Expired: {"cancelled", "expired"},
		providertest.Disputed: {"charged_back", "in_process"}, providertest.Nonsense: {"quux", "quux"},
	}
	p.set(states[e][0], states[e][1])
	switch e {
	case providertest.WrongAmount:
		p.amount.Minor++
	case providertest.WrongCurrency:
		p.amount.Currency = money.USD
	}
}

func (f *fake) Notification(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	f.serial++
	return notification("payment", strconv.FormatInt(c.payments[len(c.payments)-1].id, 10), f.serial, providertest.Noon.UnixMilli())
}

// notification returns a notification as it is sent, with a new id each time. One about no object is signed without an id.
func notification(kind, id string, serial, ts int64) provider.Notification {
	request := fmt.Sprintf("2066ca19-c6f1-498a-be75-%012d", serial)
	about, manifest := url.Values{"type": {kind}, "source_news": {"webhooks"}}, ""
	if id != "" {
		about.Set("data.id", id)
		manifest = "id:" + strings.ToLower(id) + ";"
	}
	v1 := providertest.MAC(sha256.New, testSecret, fmt.Sprintf("%srequest-id:%s;ts:%d;", manifest, request, ts))
	body := fmt.Sprintf(`{"id":%d,"live_mode":true,"type":%q,"date_created":"2026-11-21T08:00:00.000-04:00","user_id":44444,`+
		`"api_version":"v1","action":"payment.updated","data":{"id":%q}}`, serial, kind, id)
	n := providertest.Notify("application/json", []byte(body), "X-Request-Id", request, "X-Signature", fmt.Sprintf("ts=%d,v1=%x", ts, v1))
	n.Query = about
	return n
}

// RefundNotification is an update of the payment.
func (f *fake) RefundNotification(reference string, _ int) provider.Notification {
	return f.Notification(reference)
}
