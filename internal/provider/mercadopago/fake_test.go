package mercadopago

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const (
	testToken  = "APP_USR-1234567890-072010-abcdef-1"
	testSecret = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
)

// fake is Mercado Pago with the books of one account, which is of every country
// at once.
type fake struct {
	t *testing.T

	mu      sync.Mutex // owns what follows
	next    providertest.Ending
	refuse  bool
	serial  int64
	answers map[string]string // by idempotency key, with its path
	charges []*charge
	bare    bool // refunds do not give metadata back
	stale   bool // searches find nothing yet
}

// charge is a payment, or a preference with the payments made on it.
type charge struct {
	reference string
	local     money.Amount
	ending    providertest.Ending
	page      map[string]any // of a preference
	payments  []*paid
}

type paid struct {
	id             int64
	reference      string
	status, detail string
	amount         money.Amount
	method         string
	version        int
	refunds        []map[string]any
	given          []money.Amount
}

func newFake(t *testing.T) *fake {
	return &fake{t: t, next: providertest.Open, serial: 5_000_000_000, answers: map[string]string{}}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+testToken {
		fail(w, http.StatusUnauthorized, "unauthorized", 401)
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var body map[string]any
	if r.Method != http.MethodGet {
		d := json.NewDecoder(r.Body)
		d.UseNumber()
		if r.Header.Get("Content-Type") != "application/json" || d.Decode(&body) != nil {
			fail(w, http.StatusBadRequest, "bad_request", 1)
			return
		}
	}
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/v1/payment_methods":
		answer(w, http.StatusOK, []map[string]any{{"id": "pix", "payment_type_id": "bank_transfer", "status": "active"}})
	case strings.HasPrefix(r.URL.Path, "/v1/payments"):
		f.payment(w, r, parts[2:], body)
	case strings.HasPrefix(r.URL.Path, "/checkout/preferences"):
		f.preference(w, r, parts[2:], body)
	case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, "/v1/chargebacks/"):
		f.chargeback(w, parts[2])
	default:
		fail(w, http.StatusNotFound, "not_found", 0)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int, word string, code int) {
	answer(w, status, map[string]any{
		"message": word, "error": word, "status": status, "cause": []map[string]any{{"code": code, "description": word}},
	})
}

// keyed answers a repetition as the first time, and refuses a call without a key.
func (f *fake) keyed(w http.ResponseWriter, r *http.Request, do func() any) {
	key := r.Header.Get("X-Idempotency-Key")
	if len(key) != 36 {
		fail(w, http.StatusBadRequest, "header x-idempotency-key can't be null", 4292)
		return
	}
	key += r.URL.Path
	if f.answers[key] == "" {
		body := do()
		if body == nil {
			return // refused
		}
		text, _ := json.Marshal(body)
		f.answers[key] = string(text)
	}
	answer(w, http.StatusCreated, json.RawMessage(f.answers[key]))
}

func (f *fake) payment(w http.ResponseWriter, r *http.Request, path []string, body map[string]any) {
	switch {
	case r.Method == http.MethodPost && len(path) == 0:
		f.keyed(w, r, func() any { return f.create(w, body) })
		return
	case r.Method == http.MethodGet && len(path) == 1 && path[0] == "search":
		f.search(w, r.URL.Query())
		return
	case len(path) == 0:
		fail(w, http.StatusMethodNotAllowed, "method_not_allowed", 0)
		return
	}
	p := f.find(path[0])
	if p == nil {
		fail(w, http.StatusNotFound, "not_found", 2000)
		return
	}
	switch {
	case r.Method == http.MethodGet && len(path) == 1:
		answer(w, http.StatusOK, p.json())
	case r.Method == http.MethodPut && len(path) == 1:
		if body["status"] != "cancelled" || p.status != "pending" && p.status != "in_process" {
			fail(w, http.StatusBadRequest, "bad_request", 3005)
			return
		}
		p.set("cancelled", "by_collector")
		answer(w, http.StatusOK, p.json())
	case r.Method == http.MethodPost && len(path) == 2 && path[1] == "refunds":
		f.keyed(w, r, func() any { return f.refund(w, p, body) })
	case r.Method == http.MethodGet && len(path) == 2 && path[1] == "refunds":
		answer(w, http.StatusOK, append([]map[string]any{}, p.refunds...))
	case r.Method == http.MethodGet && len(path) == 3 && path[1] == "refunds":
		for _, back := range p.refunds {
			if fmt.Sprint(back["id"]) == path[2] {
				answer(w, http.StatusOK, back)
				return
			}
		}
		fail(w, http.StatusNotFound, "not_found", 2032)
	default:
		fail(w, http.StatusMethodNotAllowed, "method_not_allowed", 0)
	}
}

// siteOf is the currency of the country that has the method.
var siteOf = map[string]money.Currency{
	"pix": "BRL", "clabe": "MXN", "oxxo": "MXN", "bancomer": "MXN", "banamex": "MXN", "paycash": "MXN", "rapipago": "ARS",
	"pagofacil": "ARS", "efecty": "COP", "pagoefectivo_atm": "PEN", "abitab": "UYU", "redpagos": "UYU",
}

func (f *fake) create(w http.ResponseWriter, body map[string]any) any {
	reference, _ := body["external_reference"].(string)
	payer, _ := body["payer"].(map[string]any)
	method, _ := body["payment_method_id"].(string)
	units, isNumber := body["transaction_amount"].(json.Number)
	site, known := siteOf[method]
	email, _ := payer["email"].(string)
	until, _ := body["date_of_expiration"].(string)
	if !known || !isNumber || reference == "" || !strings.Contains(email, "@") {
		fail(w, http.StatusBadRequest, "bad_request", 4037)
		return nil
	}
	local, err := money.Parse(units.String(), site)
	if err != nil || !local.IsPositive() {
		fail(w, http.StatusBadRequest, "invalid transaction_amount", 4037)
		return nil
	}
	least := map[string]time.Duration{"pix": 30 * time.Minute}[method]
	if least == 0 {
		least = 24 * time.Hour
	}
	t, err := time.Parse("2006-01-02T15:04:05.000-07:00", until)
	late := err != nil || t.Before(providertest.Noon.Add(least)) || t.After(providertest.Noon.Add(30*24*time.Hour))
	if until != "" && late {
		fail(w, http.StatusBadRequest, "invalid date_of_expiration", 4050)
		return nil
	}
	c := &charge{reference: reference, local: local, ending: providertest.Open}
	f.charges = append(f.charges, c)
	f.try(c, method)
	f.end(c, f.next)
	return c.payments[0].json()
}

// try begins a payment of a charge.
func (f *fake) try(c *charge, method string) *paid {
	f.serial++
	p := &paid{id: f.serial, reference: c.reference, status: "pending", detail: "pending_waiting_transfer", amount: c.local, method: method}
	c.payments = append(c.payments, p)
	return p
}

func (p *paid) set(status, detail string) {
	p.status, p.detail, p.version = status, detail, p.version+1
}

func (p *paid) json() map[string]any {
	ticket := fmt.Sprintf("https://www.mercadopago.test/payments/%d/ticket?hash=a", p.id)
	out := map[string]any{
		"id": p.id, "external_reference": p.reference, "status": p.status, "status_detail": p.detail, "payment_method_id": p.method,
		"currency_id": p.amount.Currency, "transaction_amount": json.Number(p.amount.Decimal()), "live_mode": true,
		"date_last_updated": fmt.Sprintf("2026-11-21T12:00:%02d.000-04:00", p.version), "order": map[string]any{}, "card": map[string]any{},
		"transaction_details": map[string]any{"external_resource_url": nil, "payment_method_reference_id": nil},
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
	return out
}

func (f *fake) find(id string) *paid {
	for _, c := range f.charges {
		for _, p := range c.payments {
			if strconv.FormatInt(p.id, 10) == id {
				return p
			}
		}
	}
	return nil
}

func (f *fake) search(w http.ResponseWriter, q url.Values) {
	limit, err := strconv.Atoi(q.Get("limit"))
	offset, err2 := strconv.Atoi(q.Get("offset"))
	if q.Get("sort") != "date_created" || q.Get("criteria") != "desc" || err != nil || err2 != nil {
		fail(w, http.StatusBadRequest, "bad_request", 1003)
		return
	}
	var all []map[string]any
	for _, c := range f.charges {
		for _, p := range c.payments {
			if p.reference == q.Get("external_reference") && !f.stale {
				all = append([]map[string]any{p.json()}, all...)
			}
		}
	}
	some := []map[string]any{}
	for i := offset; i < len(all) && i < offset+limit; i++ {
		some = append(some, all[i])
	}
	answer(w, http.StatusOK, map[string]any{
		"paging": map[string]any{"total": len(all), "limit": limit, "offset": offset}, "results": some,
	})
}

func (f *fake) refund(w http.ResponseWriter, p *paid, body map[string]any) any {
	units, isNumber := body["amount"].(json.Number)
	left := p.amount
	for _, g := range p.given {
		left = left.Sub(g)
	}
	back, err := money.Parse(units.String(), p.amount.Currency)
	switch {
	case !isNumber || err != nil || !back.IsPositive():
		fail(w, http.StatusBadRequest, "amount attribute must be positive", 4040)
		return nil
	case f.refuse || p.status != "approved" && p.status != "refunded" || back.Cmp(left) > 0:
		fail(w, http.StatusBadRequest, "the action requested is not valid for the current payment state", 2063)
		return nil
	}
	f.serial++
	p.given = append(p.given, back)
	one := map[string]any{
		"id": f.serial, "payment_id": p.id, "amount": json.Number(back.Decimal()), "status": "approved", "metadata": body["metadata"],
		"source": map[string]any{"id": "1", "name": "shop", "type": "collector"}, "unique_sequence_number": nil,
	}
	if f.bare {
		one["metadata"] = map[string]any{}
	}
	p.refunds = append(p.refunds, one)
	return one
}

func (f *fake) preference(w http.ResponseWriter, r *http.Request, path []string, body map[string]any) {
	switch {
	case r.Method == http.MethodPost && len(path) == 0:
		local, ok := checkPage(body)
		if !ok {
			fail(w, http.StatusBadRequest, "invalid_items", 0)
			return
		}
		f.serial++
		id := fmt.Sprintf("123456-%d-ab", f.serial)
		body["id"], body["init_point"] = id, "https://www.mercadopago.test/checkout/v1/redirect?pref_id="+id
		reference, _ := body["external_reference"].(string)
		c := &charge{reference: reference, local: local, page: body, ending: providertest.Open}
		f.charges = append(f.charges, c)
		answer(w, http.StatusCreated, body)
	case r.Method == http.MethodGet && len(path) == 1 && path[0] == "search":
		some := []any{}
		for _, c := range f.charges {
			if c.page != nil && c.reference == r.URL.Query().Get("external_reference") {
				short := map[string]any{}
				for k, v := range c.page {
					if k != "init_point" {
						short[k] = v
					}
				}
				some = append(some, short)
			}
		}
		answer(w, http.StatusOK, map[string]any{"elements": some, "total": len(some)})
	case len(path) == 1:
		for _, c := range f.charges {
			if c.page == nil || c.page["id"] != path[0] {
				continue
			}
			if r.Method == http.MethodPut {
				if _, ok := checkPage(body); !ok {
					fail(w, http.StatusBadRequest, "invalid_items", 0)
					return
				}
				c.page["expires"], c.page["expiration_date_to"] = body["expires"], body["expiration_date_to"]
			}
			answer(w, http.StatusOK, c.page)
			return
		}
		fail(w, http.StatusNotFound, "not_found", 0)
	default:
		fail(w, http.StatusMethodNotAllowed, "method_not_allowed", 0)
	}
}

// checkPage reads the total of a preference, and whether it may be one.
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
	good := err == nil && local.IsPositive() && body["auto_return"] == "approved" && back["success"] == providertest.Page && dated
	return local, good
}

func (f *fake) chargeback(w http.ResponseWriter, id string) {
	p := f.find(strings.TrimPrefix(id, "77"))
	if p == nil {
		fail(w, http.StatusNotFound, "not_found", 0)
		return
	}
	answer(w, http.StatusOK, map[string]any{
		"id": id, "payments": []int64{p.id}, "currency": p.amount.Currency, "reason": "general", "coverage_applied": covered[p.detail],
		"date_documentation_deadline": "2026-12-01T12:00:00.000-04:00", "date_last_updated": "2026-11-22T12:00:00.000-04:00",
	})
}

var covered = map[string]any{"won": true, "lost": false}

func (f *fake) Next(e providertest.Ending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = e
}

func (f *fake) Move(reference string, e providertest.Ending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.charges {
		if c.reference == reference {
			f.end(c, e)
			return
		}
	}
	f.t.Errorf("there is no charge %s", reference)
}

// end brings a charge to an ending. A page that ends unpaid is over.
func (f *fake) end(c *charge, e providertest.Ending) {
	c.ending = e
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
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.charges {
		if c.reference == reference && len(c.payments) > 0 {
			f.serial++
			id := strconv.FormatInt(c.payments[len(c.payments)-1].id, 10)
			return notification("payment", id, f.serial, providertest.Noon.UnixMilli())
		}
	}
	f.t.Errorf("there is no payment %s to tell of", reference)
	return provider.Notification{}
}

// notification is one as it is sent, with another id for each sending.
func notification(kind, id string, serial, ts int64) provider.Notification {
	request := fmt.Sprintf("2066ca19-c6f1-498a-be75-%012d", serial)
	mac := hmac.New(sha256.New, []byte(testSecret))
	fmt.Fprintf(mac, "id:%s;request-id:%s;ts:%d;", strings.ToLower(id), request, ts)
	body := fmt.Sprintf(`{"id":%d,"live_mode":true,"type":%q,"date_created":"2026-11-21T08:00:00.000-04:00","user_id":44444,`+
		`"api_version":"v1","action":"payment.updated","data":{"id":%q}}`, serial, kind, id)
	return provider.Notification{
		Header: http.Header{
			"Content-Type": {"application/json"}, "X-Request-Id": {request},
			"X-Signature": {fmt.Sprintf("ts=%d,v1=%s", ts, hex.EncodeToString(mac.Sum(nil)))},
		},
		Query: url.Values{"data.id": {id}, "type": {kind}, "source_news": {"webhooks"}}, Body: []byte(body),
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
	for _, c := range f.charges {
		e := providertest.Entry{Reference: c.reference, Local: c.local, Ending: c.ending}
		for _, p := range c.payments {
			e.Refunds = append(e.Refunds, p.given...)
		}
		list = append(list, e)
	}
	return list
}
