package stripe

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const (
	testAccount = "fa_test_65Fake"
	// testIBAN is the account in pounds: Stripe gets only its sort code and its number.
	testIBAN = "GB29NWBK60161331926819"
)

// payoutFake is the part of Stripe that pays out, as documented.
type payoutFake struct {
	payouttest.Frame[*fakePayment]
	clock      func() time.Time
	keys       map[string]kept   // results by idempotency key
	recipients map[string]string // the country of each recipient
	methods    map[string]fakeMethod
	says       map[string]refusing // refusals by path
	crowd      int                 // payments of others
	lists      int                 // how many pages were requested
	setup      string              // the status of a new bank account, if it is not the usual one
	restricted bool                // of the bank account
	closed     bool                // of the financial account
	events     int
	entities   []string       // the recipients' kinds
	debited    []string       // the currencies of payments
	panels     []*fakePayment // payments made in the dashboard, which are in no book
}

type kept struct {
	of     string // the path, the context and the body
	answer func() any
}

type refusing struct {
	status     int
	kind, code string
}

type fakeMethod struct{ recipient, currency, destination string }

type fakePayment struct {
	payouttest.Entry
	number  int
	to      string
	arrival string // if it is not the usual one; "-" is none
	word    string // its status, if it is not the usual one
	reason  string // why it ended, if it is not the usual reason
	panel   bool   // made in the dashboard
}

var failures = map[payouttest.Behaviour]string{
	payouttest.InvalidAccount: "payout_method_does_not_exist", payouttest.Compliance: "review_rejected",
	payouttest.OverLimit: "payout_method_amount_limit_exceeded", payouttest.Refused: "payout_method_declined",
	payouttest.AccountClosed: "payout_method_closed", // only for money that came back
}

func (p *fakePayment) id() string { return fmt.Sprintf("obp_test_%d", p.number) }

func (p *fakePayment) status() string {
	switch {
	case p.word != "":
		return p.word
	case p.Why == payouttest.Nonsense && p.Stage == payouttest.Open:
		return "sleeping"
	}
	return map[payouttest.Stage]string{
		payouttest.Open: "processing", payouttest.Done: "posted", payouttest.Failed: "failed", payouttest.Returned: "returned",
	}[p.Stage]
}

func amountOf(a money.Amount) object {
	return object{"value": a.Minor, "currency": strings.ToLower(string(a.Currency))}
}

const millis = "2006-01-02T15:04:05.000Z"

func (p *fakePayment) json() object {
	credited := p.Asked
	if p.Times > 0 {
		credited = p.Paid
	}
	all := object{
		"id": p.id(), "object": "v2.money_management.outbound_payment", "status": p.status(), "amount": amountOf(p.Asked), "cancelable": p.Stage == payouttest.Open,
		"created": p.Created.Format(millis), "description": p.Reference, "from": object{"financial_account": testAccount, "debited": amountOf(money.New(1, "USD"))},
		"to":       object{"recipient": p.to, "payout_method": "method", "credited": amountOf(credited)},
		"metadata": object{referenceKey: p.Reference}, "livemode": false, "tracking_details": object{"status": "pending", "type": "bank_account"},
		"recipient_notification": object{"setting": "none"}, "statement_descriptor": "SHOP", "status_transitions": object{"posted_at": nil}, "status_details": nil,
	}
	if p.panel {
		delete(all, "metadata")
	}
	switch all["expected_arrival_date"] = p.Created.Add(48 * time.Hour).Format("2006-01-02T00:00:00Z"); p.status() {
	case "posted":
		all["status_transitions"] = object{"posted_at": p.Created.Format(millis)}
		all["expected_arrival_date"] = p.Created.Format(millis) // a sandbox is as fast
	case "failed", "returned":
		why := p.reason
		if why == "" {
			why = failures[p.Why]
		}
		all["status_details"] = object{p.status(): object{"reason": why}}
		fallthrough
	case "canceled":
		delete(all, "expected_arrival_date")
	}
	switch p.arrival {
	case "":
	case "-":
		all["expected_arrival_date"] = nil
	default:
		all["expected_arrival_date"] = p.arrival
	}
	return all
}

// wrong refuses undocumented requests.
func (f *payoutFake) wrong(format string, args ...any) (int, any) {
	f.Complain(format, args...)
	return invalid("parameter_invalid")
}

func (f *payoutFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.Serve(w, r, func(body []byte) (int, any) { return f.answer(r, body) })
}

func (f *payoutFake) answer(r *http.Request, body []byte) (int, any) {
	key, post := r.Header.Get("Idempotency-Key"), r.Method == http.MethodPost
	id, one := strings.CutPrefix(r.URL.Path, paymentsOf+"/")
	said, refuses := f.says[r.URL.Path]
	switch {
	case r.Header.Get("Authorization") != "Bearer "+testKey:
		return fail(401, "invalid_request_error", "")
	case r.Header.Get("Stripe-Version") != "2026-10-28.endive":
		return f.wrong("the version %q", r.Header.Get("Stripe-Version"))
	case post != (key != "") || len(key) > 255, post != (r.Header.Get("Content-Type") == "application/json"), !post && len(body) > 0:
		return f.wrong("%s %s with the key %q, the type %q and %d bytes", r.Method, r.URL.Path, key, r.Header.Get("Content-Type"), len(body))
	case (r.Header.Get("Stripe-Context") != "") != (r.URL.Path == setupsOf):
		return f.wrong("%s in the context %q", r.URL.Path, r.Header.Get("Stripe-Context"))
	case post && refuses:
		return fail(said.status, said.kind, said.code)
	case post:
		return f.once(key, r.URL.Path, r.Header.Get("Stripe-Context"), body)
	case r.URL.Path == paymentsOf:
		return f.list(r.URL.Query())
	case one:
		for _, p := range slices.Concat(f.Payouts, f.panels) {
			if p.id() == id {
				return 200, p.json()
			}
		}
		return fail(404, "", "not_found")
	case r.URL.Path == "/v2/money_management/financial_accounts/"+testAccount:
		status := map[bool]string{false: "open", true: "closed"}[f.closed]
		return 200, object{"id": testAccount, "object": "v2.money_management.financial_account", "status": status, "livemode": false, "country": "US", "type": "storage", "created": "2026-11-21T12:00:00.000Z", "balance": object{
			"available":       object{"usd": object{"value": 129400, "currency": "usd"}, "gbp": object{"value": 30, "currency": "gbp"}},
			"inbound_pending": object{"usd": object{"value": 7, "currency": "usd"}}, "outbound_pending": object{},
		}}
	}
	return f.wrong("no route %s %s", r.Method, r.URL.Path)
}

const (
	recipientsOf = "/v2/core/accounts"
	setupsOf     = "/v2/money_management/outbound_setup_intents"
	paymentsOf   = "/v2/money_management/outbound_payments"
)

// once runs the request of a key once. A refused request runs again, and a finished one is
// answered with the current state.
func (f *payoutFake) once(key, path, context string, body []byte) (int, any) {
	of := path + " " + context + " " + string(body)
	if before, again := f.keys[key]; again {
		if before.of != of {
			f.Complain("the key %s for %s, and before for %s", key, of, before.of)
			return fail(400, "idempotency_error", "")
		}
		return 200, before.answer()
	}
	if f.keys == nil {
		f.keys, f.recipients, f.methods = map[string]kept{}, map[string]string{}, map[string]fakeMethod{}
	}
	status, reply := 0, any(nil)
	answer := func() any { return reply }
	switch path {
	case recipientsOf:
		status, reply = f.makeRecipient(body)
	case setupsOf:
		status, reply = f.makeMethod(context, body)
	case paymentsOf:
		var p *fakePayment
		if status, reply, p = f.makePayment(body); p != nil {
			answer = func() any { return p.json() }
		}
	default:
		return f.wrong("no route POST %s", path)
	}
	if status == 200 {
		f.keys[key] = kept{of, answer}
	}
	return status, reply
}

// list returns a page of payments. The answer has the address of the next page.
func (f *payoutFake) list(q url.Values) (int, any) {
	f.lists++
	since, err := time.Parse(time.RFC3339, q.Get("created[gte]"))
	at := 0
	for name, values := range q {
		if len(values) != 1 || name != "created[gte]" && name != "page" {
			err = fmt.Errorf("the parameter %s", name)
		}
	}
	if q.Has("page") {
		at, _ = strconv.Atoi(strings.TrimPrefix(q.Get("page"), "page_"))
	}
	if err != nil && len(q) > 0 {
		return f.wrong("a list of %s: %v", q.Encode(), err)
	}
	recent := slices.DeleteFunc(slices.Clone(f.Payouts), func(p *fakePayment) bool { return p.Created.Before(since) })
	total := f.crowd + len(recent)
	const page = 20
	data := []any{}
	end := min(at+page, total)
	for i := at; i < end; i++ {
		p := &fakePayment{number: 1e6 + i, panel: i%2 == 0, Entry: payouttest.Entry{Reference: "CROWD" + strconv.Itoa(i), Asked: money.New(1, "USD"), Created: providertest.Noon, Stage: payouttest.Done}}
		if i >= f.crowd {
			p = recent[i-f.crowd]
		}
		data = append(data, p.json())
	}
	reply := object{"data": data, "next_page_url": nil}
	if end < total {
		reply["next_page_url"] = paymentsOf + "?" + url.Values{"created[gte]": {q.Get("created[gte]")}, "page": {fmt.Sprintf("page_%d", end)}}.Encode()
	}
	return 200, reply
}
