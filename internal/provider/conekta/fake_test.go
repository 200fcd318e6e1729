package conekta

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const testKey = "key_eYvWV7gSDkNYXsmr"

// signer makes the key pair that /webhook_keys makes, once for all tests.
var signer = sync.OnceValues(func() (*rsa.PrivateKey, string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		panic(err)
	}
	return key, string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
})

// fake is Conekta with the books of one account.
type fake struct {
	t *testing.T

	mu      sync.Mutex // owns what follows
	next    providertest.Ending
	refuse  bool
	keyless bool   // it takes no Idempotency-Key
	store   string // whose references cash orders get
	serial  int64
	answers map[string][]byte // by idempotency key and path
	orders  []*entry
}

type entry struct {
	id, reference string
	local         money.Amount
	ending        providertest.Ending
	status        any // payment_status
	hosted        bool
	kind          string // of the charge
	until         int64  // of the page
	updated       int64
	metadata      map[string]any
	charges       []map[string]any
	given         []money.Amount
}

func newFake(t *testing.T) *fake {
	return &fake{t: t, next: providertest.Open, serial: 1000, store: "OXXO", answers: map[string][]byte{}}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.Header.Get("Authorization") != "Bearer "+testKey:
		fail(w, http.StatusUnauthorized, "authentication_error", "conekta.errors.authentication.missing_key")
		return
	case r.Header.Get("Accept") != "application/vnd.conekta-v2.2.0+json":
		fail(w, http.StatusNotAcceptable, "api_version_error", "conekta.errors.api_version.unsupported")
		return
	}
	if r.Method != http.MethodPost {
		f.get(w, r)
		return
	}
	if r.Header.Get("Content-Type") != "application/json" {
		fail(w, http.StatusUnprocessableEntity, "parameter_validation_error", "conekta.errors.parameter_validation.body")
		return
	}
	body, _ := io.ReadAll(r.Body)
	key := r.Header.Get("Idempotency-Key") + r.URL.Path
	if old, done := f.answers[key]; done && r.Header.Get("Idempotency-Key") != "" && !f.keyless {
		_, _ = w.Write(old)
		return
	}
	if made := f.post(w, strings.Split(strings.Trim(r.URL.Path, "/"), "/"), body); made != nil {
		text, _ := json.Marshal(made.json())
		f.answers[key] = text
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text)
	}
}

func fail(w http.ResponseWriter, status int, kind, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"object": "error", "type": kind, "log_id": "641b6d073cd9a50001515007",
		"details": []map[string]any{{"code": code, "message": kind, "debug_message": kind}},
	})
}

// get answers a list in pages, oldest last, or one order.
func (f *fake) get(w http.ResponseWriter, r *http.Request) {
	if id, one := strings.CutPrefix(r.URL.Path, "/orders/"); one {
		for _, e := range f.orders {
			if e.id == id {
				_ = json.NewEncoder(w).Encode(e.json())
				return
			}
		}
		fail(w, http.StatusNotFound, "resource_not_found_error", "conekta.errors.resource_not_found.entity")
		return
	}
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if r.URL.Path != "/orders" || err != nil || limit < 1 || limit > 250 {
		fail(w, http.StatusUnprocessableEntity, "parameter_validation_error", "conekta.errors.parameter_validation.limit")
		return
	}
	some, more, started := []map[string]any{}, false, q.Get("next") == ""
	for i := len(f.orders) - 1; i >= 0; i-- {
		if !started {
			started = f.orders[i].id == q.Get("next")
			continue
		}
		if len(some) == limit {
			more = true
			break
		}
		some = append(some, f.orders[i].json())
	}
	list := map[string]any{"object": "list", "has_more": more, "data": some}
	if more {
		list["next_page_url"] = "https://elsewhere.test/orders?limit=250&next=" + fmt.Sprint(some[len(some)-1]["id"])
	}
	_ = json.NewEncoder(w).Encode(list)
}

// post makes, refunds or cancels an order; nil when it is refused.
func (f *fake) post(w http.ResponseWriter, path []string, body []byte) *entry {
	if len(path) == 1 && path[0] == "orders" {
		return f.create(w, body)
	}
	for _, e := range f.orders {
		if len(path) != 3 || path[0] != "orders" || e.id != path[1] {
			continue
		}
		switch path[2] {
		case "refunds":
			return f.refund(w, e, body)
		case "cancel":
			if e.status != nil && e.status != "pending_payment" && e.status != "declined" {
				fail(w, http.StatusPreconditionRequired, "precondition_required_error", "conekta.errors.precondition_required.order.paid")
				return nil
			}
			e.set("canceled", "canceled")
			return e
		}
	}
	fail(w, http.StatusNotFound, "resource_not_found_error", "conekta.errors.resource_not_found.entity")
	return nil
}

func (f *fake) create(w http.ResponseWriter, body []byte) *entry {
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
		} `json:"line_items"`
		Charges []struct {
			Amount int64
			Method struct {
				Type      string
				ExpiresAt int64 `json:"expires_at"`
			} `json:"payment_method"`
			ReferenceID string `json:"reference_id"`
		} `json:"charges"`
		Checkout *struct {
			Type, Name string
			Allowed    []string `json:"allowed_payment_methods"`
			SuccessURL string   `json:"success_url"`
			FailureURL string   `json:"failure_url"`
			ExpiresAt  int64    `json:"expires_at"`
		} `json:"checkout"`
		Metadata map[string]any `json:"metadata"`
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	bad := d.Decode(&q) != nil || q.Currency != "MXN" || q.Customer.Name == "" || q.Customer.Phone == "" || q.Customer.Corporate == nil ||
		!strings.Contains(q.Customer.Email, "@") || len(q.Items) != 1 || q.Items[0].UnitPrice < 1 || q.Items[0].Quantity != 1 ||
		(len(q.Charges) == 1) == (q.Checkout != nil)
	now := providertest.Noon.Unix()
	if !bad && q.Checkout != nil {
		bad = q.Checkout.Type != "HostedPayment" || len(q.Checkout.Allowed) != 1 || q.Checkout.SuccessURL != providertest.Page ||
			q.Checkout.ExpiresAt < now+2*86400 || q.Checkout.ExpiresAt > now+365*86400
	}
	if !bad && len(q.Charges) == 1 {
		c := q.Charges[0]
		bad = c.Amount != q.Items[0].UnitPrice || c.Method.ExpiresAt <= now || c.Method.Type != "spei" && c.Method.Type != "cash"
	}
	if bad {
		fail(w, http.StatusUnprocessableEntity, "parameter_validation_error", "conekta.errors.parameter_validation.order")
		return nil
	}
	f.serial++
	e := &entry{
		id: fmt.Sprintf("ord_%d", f.serial), local: money.New(q.Items[0].UnitPrice, money.MXN), ending: providertest.Open, metadata: q.Metadata, updated: now,
	}
	e.reference, _ = q.Metadata["cascada_reference"].(string)
	if q.Checkout != nil {
		e.hosted, e.kind, e.until = true, "card", q.Checkout.ExpiresAt
	} else {
		e.kind, e.status = q.Charges[0].Method.Type, "pending_payment"
		f.try(e, "pending_payment", "")
	}
	f.orders = append(f.orders, e)
	f.end(e, f.next)
	return e
}

// try adds a charge to an order.
func (f *fake) try(e *entry, status, failure string) {
	f.serial++
	methods := map[string]map[string]any{
		"spei": {"object": "bank_transfer_payment", "type": "spei", "clabe": "646180111805034237", "receiving_account_number": "646180111805034237", "receiving_account_bank": "STP"},
		"cash": {"object": "cash_payment", "type": "oxxo", "service_name": f.store + "Pay", "store_name": f.store, "reference": "93000262276908", "barcode_url": "https://barcodes.test/1.png"},
		"card": {"object": "card_payment", "type": "credit", "last4": "4242", "brand": "visa"},
	}
	c := map[string]any{
		"id": fmt.Sprint(f.serial), "object": "charge", "amount": e.local.Minor, "currency": "MXN", "status": status, "failure_code": nil,
		"created_at": f.serial, "livemode": false, "order_id": e.id, "payment_method": methods[e.kind], "refunds": nil,
	}
	if failure != "" {
		c["failure_code"] = failure
	}
	e.charges = append(e.charges, c)
}

// set moves an order and its last charge.
func (e *entry) set(order, charge string) {
	e.status = order
	e.updated++
	if len(e.charges) > 0 {
		e.charges[len(e.charges)-1]["status"] = charge
	}
}

func (e *entry) json() map[string]any {
	out := map[string]any{
		"id": e.id, "object": "order", "livemode": false, "amount": e.local.Minor, "currency": "MXN", "payment_status": e.status,
		"updated_at": e.updated, "created_at": providertest.Noon.Unix(), "metadata": e.metadata, "charges": nil, "checkout": nil,
	}
	if len(e.charges) > 0 {
		out["charges"] = map[string]any{"object": "list", "has_more": false, "data": e.charges}
	}
	if e.hosted {
		out["checkout"] = map[string]any{
			"id": "6fca054a", "type": "HostedPayment", "status": "Issued", "expires_at": e.until, "url": "https://pay.conekta.test/checkout/" + e.id,
		}
	}
	return out
}

func (f *fake) refund(w http.ResponseWriter, e *entry, body []byte) *entry {
	var q struct {
		Amount int64  `json:"amount"`
		Reason string `json:"reason"`
	}
	left := e.local.Minor
	for _, g := range e.given {
		left -= g.Minor
	}
	known := map[string]bool{"requested_by_client": true, "duplicated_transaction": true, "suspected_fraud": true, "other": true}
	status, _ := e.status.(string)
	switch {
	case json.Unmarshal(body, &q) != nil || q.Amount < 1 || !known[q.Reason]:
		fail(w, http.StatusUnprocessableEntity, "parameter_validation_error", "conekta.errors.parameter_validation.refund")
		return nil
	case f.refuse || q.Amount > left || status != "paid" && status != "partially_refunded":
		fail(w, http.StatusUnprocessableEntity, "parameter_validation_error", "conekta.errors.parameter_validation.order.not_refundable")
		return nil
	}
	f.serial++
	c := e.charges[len(e.charges)-1]
	old, _ := c["refunds"].(map[string]any)
	list, _ := old["data"].([]map[string]any)
	list = append(list, map[string]any{"id": fmt.Sprint(f.serial), "object": "refund", "amount": -q.Amount, "created_at": f.serial, "status": "pending"})
	c["refunds"] = map[string]any{"object": "list", "has_more": false, "data": list}
	e.given = append(e.given, money.New(q.Amount, money.MXN))
	word := "partially_refunded"
	if q.Amount == left {
		word = "refunded"
	}
	e.set(word, word)
	return e
}

func (f *fake) Next(e providertest.Ending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = e
}

func (f *fake) Move(reference string, ending providertest.Ending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.orders {
		if e.reference == reference {
			f.end(e, ending)
			return
		}
	}
	f.t.Errorf("there is no order %s", reference)
}

func (f *fake) end(e *entry, ending providertest.Ending) {
	e.ending = ending
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
	e.set(states[ending], states[ending])
	if len(e.charges) == 0 {
		return
	}
	c := e.charges[len(e.charges)-1]
	switch ending {
	case providertest.WrongAmount:
		c["amount"] = e.local.Minor + 1
	case providertest.WrongCurrency:
		c["currency"] = "USD"
	case providertest.Declined:
		c["failure_code"] = "conekta.errors.processing.bank.insufficient_funds"
	case providertest.SoftDeclined:
		c["failure_code"] = "card_declined"
	}
}

func (f *fake) Notification(reference string) provider.Notification {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.orders {
		if e.reference == reference {
			f.serial++
			return event(fmt.Sprint(f.serial), fmt.Sprint("order.", e.status), e.json())
		}
	}
	f.t.Errorf("there is no order %s to tell of", reference)
	return provider.Notification{}
}

// event is one as it is sent.
func event(id, kind string, object map[string]any) provider.Notification {
	body, err := json.Marshal(map[string]any{
		"id": id, "object": "event", "type": kind, "livemode": false, "created_at": providertest.Noon.Unix(),
		"webhook_status": "pending", "data": map[string]any{"object": object, "previous_attributes": map[string]any{}},
	})
	if err != nil {
		panic(err)
	}
	return sign(body)
}

func sign(body []byte) provider.Notification {
	key, _ := signer()
	sum := sha256.Sum256(body)
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return provider.Notification{
		Header: http.Header{"Content-Type": {"application/json"}, "Digest": {base64.StdEncoding.EncodeToString(signature)}}, Body: body,
	}
}

func (f *fake) RefuseRefunds() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refuse = true
}

func (f *fake) Books() []providertest.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []providertest.Entry
	for _, e := range f.orders {
		list = append(list, providertest.Entry{Reference: e.reference, Local: e.local, Ending: e.ending, Refunds: e.given})
	}
	return list
}
