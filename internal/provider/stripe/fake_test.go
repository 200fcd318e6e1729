package stripe

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const (
	testKey    = "sk_test_51FAKE"
	testSecret = "whsec_fake0123456789abcdef"
)

// fake is Stripe, as documented, as far as we use it.
type fake struct {
	providertest.Frame[*charge]
	refunds string       // the status of refunds, if it is not the one in the books
	page    int          // the longest page of a list, shorter than requested
	seen    []url.Values // the forms that were posted

	tick      int64 // seconds since Noon
	customers []*shopperBalance
	moves     int      // cash balance transactions so far
	returns   []object // refunds of cash balances

	meanwhile func(path string) // what happens before a path is read
	outage    int               // so many creations of a Customer, uploads or answers to a dispute fail
	outages   map[string]bool   // by the key whose first answer was a failure, which Stripe repeats
	half      bool              // one that fails has done its work
	files     []upload
	barred    string // the status for a key that may not answer disputes
}

// charge is a PaymentIntent, with the Checkout Session that it is paid on.
type charge struct {
	providertest.Entry
	number  int
	method  string
	form    url.Values
	dispute string // its status, if it is not that of the ending
	answer  answer // to the dispute
	moved   []object
	created int64
	funded  int64    // what it took of a cash balance
	tries   []string // the codes of the cards that were refused on its page
	months  int      // how many installments the shopper chose
	going   string   // the intent's status while a payment on the page is under way
}

type object = map[string]any

func newFake() *fake {
	f := &fake{page: 100, outages: map[string]bool{}}
	f.Conflict = func() (int, any) { return fail(400, "idempotency_error", "") }
	f.Changed = f.endTransfer
	return f
}

func (f *fake) Notification(reference string) provider.Notification {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	kind, of := "payment_intent.succeeded", c.intent()
	switch {
	case c.Ending == providertest.Disputed:
		kind, of = "charge.dispute.created", c.disputed(false)
	case c.hosted() && c.Ending == providertest.Expired:
		kind, of = "checkout.session.expired", c.session(false)
	case c.hosted() && c.Ending == providertest.Nonsense:
		kind, of = "checkout.session.completed", c.session(false)
	case c.Ending == providertest.Expired, c.Ending == providertest.Declined:
		kind = "payment_intent.payment_failed"
	case c.Ending == providertest.Canceled:
		kind = "payment_intent.canceled"
	}
	return notification(fmt.Sprintf("evt_%d_%s", c.number, c.Ending), kind, of)
}

// Try implements providertest.CardFake. A session stays open after a refusal, and its intent has the last one alone.
func (f *fake) Try(reference, code string) (n provider.Notification, open bool) {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	if !c.hosted() || c.Ending != providertest.Open {
		return n, false
	}
	if code == "" {
		c.Ending = providertest.Paid
		return notification(fmt.Sprintf("evt_%d_paid", c.number), "payment_intent.succeeded", c.intent()), true
	}
	c.tries = append(c.tries, code)
	return notification(fmt.Sprintf("evt_%d_try_%d", c.number, len(c.tries)), "payment_intent.payment_failed", c.intent()), true
}

// In implements providertest.Installing. A session has all plans or none, and its own event follows that of the intent.
func (f *fake) In(reference string, count int) (n provider.Notification, offered bool) {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	if c.form.Get("payment_method_options[card][installments][enabled]") != "true" || !slices.Contains(plans, count) || c.Local.Minor < int64(count)*100_00 || c.Ending != providertest.Open {
		return n, false
	}
	c.Ending, c.months = providertest.Paid, count
	return notification(fmt.Sprintf("evt_%d_done", c.number), "checkout.session.completed", c.session(false)), true
}

func (f *fake) RefundNotification(reference string, n int) provider.Notification {
	f.Lock()
	defer f.Unlock()
	c := f.Must(reference)
	kind := "refund.updated"
	if c.Refunds[n].Ending == providertest.Declined {
		kind = "refund.failed"
	}
	return notification(fmt.Sprintf("evt_re_%d_%d_%s", c.number, n, c.Refunds[n].Ending), kind, f.refund(c, n))
}

// notification returns a signed event.
func notification(id, kind string, of object) provider.Notification {
	body := providertest.JSON(object{
		"id": id, "object": "event", "type": kind, "api_version": version, "data": object{"object": of}, "created": providertest.Noon.Unix(), "livemode": false,
		"pending_webhooks": 1,
	})
	return providertest.Notify("application/json; charset=utf-8", body, signatureHeader, signature(body, testSecret, providertest.Noon.Unix()))
}

func signature(body []byte, secret string, at int64) string {
	return fmt.Sprintf("t=%d,v1=%x,v0=%064d", at, providertest.MAC(sha256.New, secret, fmt.Sprintf("%d.", at), string(body)), 0)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(body []byte) (int, any) { return f.answer(r, body) })
}

func fail(status int, kind, code string) (int, any) {
	return status, object{"error": object{"type": kind, "code": code, "message": "Stripe says no."}}
}

func invalid(code string) (int, any) { return fail(400, "invalid_request_error", code) }

func (f *fake) answer(r *http.Request, body []byte) (int, any) {
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
	if path == "files" && r.Method == http.MethodPost {
		return f.takeFile(r, body)
	}
	form, err := url.ParseQuery(string(body))
	if r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" || err != nil {
		return invalid("parameter_unknown")
	}
	f.seen = append(f.seen, form)
	if key := r.Header.Get("Idempotency-Key"); (path == "customers" || strings.HasPrefix(path, "disputes/")) && (f.outage > 0 || f.outages[key]) {
		return f.fails(key, path, form)
	}
	return f.Once(r.Header.Get("Idempotency-Key"), path+"?"+form.Encode(), func() (int, any) { return f.write(path, form) })
}

func (f *fake) write(path string, form url.Values) (int, any) {
	if id, ok := between(path, "payment_intents/", "/cancel"); ok {
		c := f.at(id)
		if c == nil || c.hosted() || c.Ending != providertest.Open {
			return invalid("payment_intent_unexpected_state")
		}
		c.Ending = providertest.Canceled
		f.unapply(c)
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
	if of, ok := strings.CutPrefix(path, "disputes/"); ok {
		if status, err := strconv.Atoi(f.barred); err == nil {
			return fail(status, "invalid_request_error", "")
		}
		return f.answerDispute(of, form)
	}
	switch path {
	case "customers":
		return 200, f.addCustomer(form).show(false)
	case "payment_intents":
		return f.makeIntent(form)
	case "checkout/sessions":
		return f.makeSession(form)
	}
	if form.Has("origin") {
		return f.makeReturn(form)
	}
	return f.makeRefund(form)
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
	case form.Get("confirm") != "true" || form.Get("allowed_payment_method_types[]") != name || missing != "" && form.Get(missing) == "":
		return invalid("parameter_missing")
	case name == "pix" && !within(form.Get("payment_method_options[pix][expires_at]"), 10, 1209600):
		return invalid("parameter_invalid")
	case form.Has("customer") && f.customer(form.Get("customer")) == nil:
		return invalid("resource_missing")
	}
	c := f.enter(form, name, form.Get("metadata[cascada_reference]"), local)
	if c.Ending == providertest.SoftDeclined {
		return fail(402, "card_error", "processing_error")
	}
	if s := f.customer(form.Get("customer")); s != nil {
		f.divide(s, "")
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
	c := f.enter(form, form.Get("allowed_payment_method_types[]"), form.Get("client_reference_id"), local)
	return 200, c.session(form.Get("expand[]") == "payment_intent")
}

func (f *fake) enter(form url.Values, method, reference string, local money.Amount) *charge {
	return f.Enter(&charge{number: len(f.Charges) + 1, method: method, form: form, created: f.now(), Entry: providertest.Entry{Reference: reference, Local: local}})
}

func (f *fake) makeRefund(form url.Values) (int, any) {
	c := f.at(form.Get("payment_intent"))
	n, err := strconv.ParseInt(form.Get("amount"), 10, 64)
	switch {
	case c == nil:
		return fail(404, "invalid_request_error", "resource_missing")
	case err != nil || n < 1:
		return invalid("parameter_invalid_integer")
	case c.method == "customer_balance" && form.Get("instructions_email") == "" && f.customer(c.form.Get("customer")).form.Get("email") == "":
		return invalid("")
	case f.Refusing:
		return invalid("charge_disputed")
	case c.Ending != providertest.Paid:
		return invalid("payment_intent_unexpected_state")
	case !f.Give(c, form.Get("metadata["+referenceKey+"]"), money.New(n, c.Local.Currency)):
		return invalid("charge_already_refunded")
	}
	return 200, f.refund(c, len(c.Refunds)-1)
}

// refund returns a Refund as the API shows it.
func (f *fake) refund(c *charge, n int) object {
	r := c.Refunds[n]
	status := map[providertest.Ending]string{
		"": "succeeded", providertest.Paid: "succeeded", providertest.Open: "pending", providertest.Declined: "failed", providertest.Nonsense: "quantum",
		expiredRefund: "canceled",
	}[r.Ending]
	made := object{
		"id": fmt.Sprintf("re_%d_%d", c.number, n), "object": "refund", "status": cmp.Or(f.refunds, status), "amount": r.Local.Minor,
		"currency": strings.ToLower(string(r.Local.Currency)), "payment_intent": c.id(), "metadata": object{referenceKey: r.Reference}, "created": f.now(),
	}
	if r.Reference == "" { // made in the Dashboard
		made["metadata"] = object{}
	}
	if status == "failed" {
		made["failure_reason"], made["failure_balance_transaction"] = "expired_or_canceled_card", "txn_1"
	}
	return made
}

// all returns the refunds of a charge.
func (f *fake) all(c *charge) (list []object) {
	for n := range c.Refunds {
		list = append(list, f.refund(c, n))
	}
	return list
}

// at returns the charge with an intent's or a session's id.
func (f *fake) at(id string) *charge {
	for _, c := range f.Charges {
		if c.id() == id || c.hosted() && c.sessionID() == id {
			return c
		}
	}
	return nil
}
