package stripe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const (
	testKey    = "sk_test_51FAKE"
	testSecret = "whsec_fake"
)

// fake is Stripe, as far as its documentation goes and we use it.
type fake struct {
	mu      sync.Mutex // owns what follows
	next    providertest.Ending
	charges []*charge
	saved   map[string]saved // by Idempotency-Key
	refuse  bool
	refunds string       // the status of refunds, where it is not succeeded
	page    int          // the longest page of a list, below what is asked for
	seen    []url.Values // the forms that were posted
}

// saved is the answer that an Idempotency-Key stands for.
type saved struct {
	request string
	status  int
	body    any
}

// charge is a PaymentIntent, with the Checkout Session that it is paid on.
type charge struct {
	providertest.Entry
	number  int
	method  string
	form    url.Values
	refunds []object
	dispute string // its status, where it is not the ending's
}

type object = map[string]any

func newFake() *fake { return &fake{next: providertest.Open, saved: map[string]saved{}, page: 100} }

func (f *fake) Next(e providertest.Ending) { f.mu.Lock(); defer f.mu.Unlock(); f.next = e }
func (f *fake) RefuseRefunds()             { f.mu.Lock(); defer f.mu.Unlock(); f.refuse = true }

func (f *fake) Move(reference string, e providertest.Ending) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(reference).Ending = e
}

func (f *fake) Books() (list []providertest.Entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.charges {
		list = append(list, c.Entry)
	}
	return list
}

func (f *fake) of(reference string) *charge {
	i := slices.IndexFunc(f.charges, func(c *charge) bool { return c.Reference == reference })
	if i < 0 {
		panic("the fake has no charge " + reference)
	}
	return f.charges[i]
}

func (f *fake) Notification(reference string) provider.Notification {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.of(reference)
	kind, of := "payment_intent.succeeded", c.intent()
	switch {
	case c.Ending == providertest.Disputed:
		kind, of = "charge.dispute.created", c.disputed(false)
	case c.hosted() && c.Ending == providertest.Expired:
		kind, of = "checkout.session.expired", c.session(false)
	case c.Ending == providertest.Expired, c.Ending == providertest.Declined:
		kind = "payment_intent.payment_failed"
	case c.Ending == providertest.Canceled:
		kind = "payment_intent.canceled"
	}
	return notification(fmt.Sprintf("evt_%d_%s", c.number, c.Ending), kind, of)
}

// notification is an event, signed.
func notification(id, kind string, of object) provider.Notification {
	body, err := json.Marshal(object{"id": id, "object": "event", "type": kind, "api_version": version, "data": object{"object": of}})
	if err != nil {
		panic(err)
	}
	return provider.Notification{Body: body, Header: http.Header{
		"Content-Type": {"application/json; charset=utf-8"}, signatureHeader: {signature(body, testSecret, providertest.Noon.Unix())},
	}}
}

func signature(body []byte, secret string, at int64) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%d.%s", at, body)
	return fmt.Sprintf("t=%d,v1=%s,v0=%064d", at, hex.EncodeToString(mac.Sum(nil)), 0)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	status, body := f.answer(r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(status int, kind, code string) (int, any) {
	return status, object{"error": object{"type": kind, "code": code, "message": "Stripe says no."}}
}

func invalid(code string) (int, any) { return fail(400, "invalid_request_error", code) }

func (f *fake) answer(r *http.Request) (int, any) {
	if r.Header.Get("Authorization") != "Bearer "+testKey {
		return fail(401, "invalid_request_error", "")
	}
	if r.Header.Get("Stripe-Version") != version {
		return invalid("parameter_invalid")
	}
	path := strings.TrimPrefix(r.URL.Path, "/v1/")
	if r.Method == http.MethodGet {
		return f.read(path, r.URL.Query())
	}
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
		return invalid("parameter_unknown")
	}
	f.seen = append(f.seen, r.PostForm)
	key, request := r.Header.Get("Idempotency-Key"), path+"?"+r.PostForm.Encode()
	if before, ok := f.saved[key]; ok {
		if before.request != request {
			return fail(400, "idempotency_error", "")
		}
		return before.status, before.body
	}
	status, body := f.write(path, r.PostForm)
	if key != "" && status != 400 {
		f.saved[key] = saved{request, status, body}
	}
	return status, body
}

func (f *fake) write(path string, form url.Values) (int, any) {
	if id, ok := between(path, "payment_intents/", "/cancel"); ok {
		c := f.at(id)
		if c == nil || c.hosted() || c.Ending != providertest.Open {
			return invalid("payment_intent_unexpected_state")
		}
		c.Ending = providertest.Canceled
		return 200, c.intent()
	}
	if id, ok := between(path, "checkout/sessions/", "/expire"); ok {
		c := f.at(id)
		if c == nil || c.Ending != providertest.Open {
			return invalid("")
		}
		c.Ending = providertest.Canceled
		return 200, c.session(form.Get("expand[]") == "payment_intent")
	}
	fields := map[string]string{
		"customers":         "metadata[cascada_reference] name email",
		"payment_intents":   "amount! currency! confirm! payment_method_types[]! payment_method_data[type]! metadata[cascada_reference] payment_method_data[billing_details][name] payment_method_data[billing_details][email] payment_method_data[billing_details][tax_id] payment_method_options[pix][expires_at] payment_method_options[oxxo][expires_after_days] payment_method_options[customer_balance][funding_type] payment_method_options[customer_balance][bank_transfer][type] customer",
		"checkout/sessions": "mode! line_items[0][quantity]! line_items[0][price_data][currency]! line_items[0][price_data][unit_amount]! line_items[0][price_data][product_data][name]! success_url! cancel_url client_reference_id payment_method_types[] expires_at adaptive_pricing[enabled] metadata[cascada_reference] payment_intent_data[metadata][cascada_reference] payment_intent_data[metadata][cascada_hosted] expand[] customer_email payment_method_options[boleto][expires_after_days]",
		"refunds":           "payment_intent! amount! metadata[cascada_reference] reason",
	}[path]
	if code := form2code(form, fields); code != "" {
		return invalid(code)
	}
	switch path {
	case "customers":
		return 200, object{"id": "cus_" + form.Get("metadata[cascada_reference]"), "object": "customer"}
	case "payment_intents":
		return f.makeIntent(form)
	case "checkout/sessions":
		return f.makeSession(form)
	}
	return f.makeRefund(form)
}

// form2code is the error of a form with a field too many or too few, or empty.
func form2code(form url.Values, fields string) string {
	for name, values := range form {
		if !slices.Contains(strings.Fields(strings.ReplaceAll(fields, "!", "")), name) || len(values) != 1 {
			return "parameter_unknown"
		}
		if values[0] == "" {
			return "parameter_invalid_empty"
		}
	}
	for _, name := range strings.Fields(fields) {
		if name, required := strings.CutSuffix(name, "!"); required && form.Get(name) == "" {
			return "parameter_missing"
		}
	}
	return ""
}

func between(text, before, after string) (string, bool) {
	rest, ok := strings.CutPrefix(text, before)
	inner, ok2 := strings.CutSuffix(rest, after)
	return inner, ok && ok2
}

func amount(minor, currency string) (money.Amount, string) {
	n, err := strconv.ParseInt(minor, 10, 64)
	switch {
	case err != nil:
		return money.Amount{}, "parameter_invalid_integer"
	case n < 1:
		return money.Amount{}, "amount_too_small"
	case n > 99999999:
		return money.Amount{}, "amount_too_large"
	case currency != strings.ToLower(currency):
		return money.Amount{}, "parameter_invalid"
	}
	return money.New(n, money.Currency(strings.ToUpper(currency))), ""
}

func (f *fake) makeIntent(form url.Values) (int, any) {
	local, code := amount(form.Get("amount"), form.Get("currency"))
	name := form.Get("payment_method_data[type]")
	missing := map[string]string{"oxxo": "payment_method_data[billing_details][email]", "customer_balance": "customer"}[name]
	switch {
	case code != "":
		return invalid(code)
	case form.Get("confirm") != "true" || form.Get("payment_method_types[]") != name || missing != "" && form.Get(missing) == "":
		return invalid("parameter_missing")
	case name == "pix" && !within(form.Get("payment_method_options[pix][expires_at]"), 10, 1209600):
		return invalid("parameter_invalid")
	}
	c := f.enter(form, name, form.Get("metadata[cascada_reference]"), local)
	if c.Ending == providertest.SoftDeclined {
		return fail(402, "card_error", "processing_error")
	}
	return 200, c.intent()
}

// within reports whether a Unix time is that many seconds ahead.
func within(text string, least, most int64) bool {
	at, err := strconv.ParseInt(text, 10, 64)
	ahead := at - providertest.Noon.Unix()
	return err == nil && ahead >= least && ahead <= most
}

func (f *fake) makeSession(form url.Values) (int, any) {
	local, code := amount(form.Get("line_items[0][price_data][unit_amount]"), form.Get("line_items[0][price_data][currency]"))
	switch {
	case code != "":
		return invalid(code)
	case form.Get("mode") != "payment" || !within(form.Get("expires_at"), 30*60, 24*60*60) || !strings.HasPrefix(form.Get("success_url"), "https://"):
		return invalid("parameter_invalid")
	}
	c := f.enter(form, form.Get("payment_method_types[]"), form.Get("client_reference_id"), local)
	return 200, c.session(form.Get("expand[]") == "payment_intent")
}

func (f *fake) enter(form url.Values, method, reference string, local money.Amount) *charge {
	c := &charge{number: len(f.charges) + 1, method: method, form: form, Entry: providertest.Entry{Reference: reference, Local: local, Ending: f.next}}
	f.charges = append(f.charges, c)
	return c
}

func (f *fake) makeRefund(form url.Values) (int, any) {
	c := f.at(form.Get("payment_intent"))
	n, err := strconv.ParseInt(form.Get("amount"), 10, 64)
	switch {
	case c == nil:
		return fail(404, "invalid_request_error", "resource_missing")
	case err != nil || n < 1:
		return invalid("parameter_invalid_integer")
	case f.refuse:
		return invalid("charge_disputed")
	case c.Ending != providertest.Paid:
		return invalid("payment_intent_unexpected_state")
	}
	left := c.Local.Minor - n
	for _, r := range c.Refunds {
		left -= r.Minor
	}
	if left < 0 {
		return invalid("charge_already_refunded")
	}
	c.Refunds = append(c.Refunds, money.New(n, c.Local.Currency))
	made := object{
		"id": fmt.Sprintf("re_%d_%d", c.number, len(c.Refunds)), "object": "refund", "status": "succeeded", "amount": n,
		"currency": strings.ToLower(string(c.Local.Currency)), "payment_intent": c.id(),
		"metadata": object{referenceKey: form.Get("metadata[cascada_reference]")},
	}
	if f.refunds != "" {
		made["status"] = f.refunds
	}
	c.refunds = append(c.refunds, made)
	return 200, made
}

// at is the charge of an intent's or a session's id.
func (f *fake) at(id string) *charge {
	for _, c := range f.charges {
		if c.id() == id || c.hosted() && c.sessionID() == id {
			return c
		}
	}
	return nil
}
