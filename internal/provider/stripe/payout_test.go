package stripe

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func payoutCredentials() map[string]string {
	return map[string]string{"secretKey": testKey, "webhookSecret": testSecret, "financialAccount": testAccount}
}

// payoutTo returns a payout over a rail to a company.
func payoutTo(network, currency, destination string, minor int64) payouts.Request {
	return payouts.Request{
		Amount: money.New(2600, money.USD), Net: money.New(2500, money.USD), Local: money.New(minor, money.Currency(currency)),
		Type: pay.BankAccount, Network: network, Currency: currency, Destination: destination,
		Beneficiary: pay.Beneficiary{Name: "Comercial Ana Gómez S.A.", Email: "ana@example.com"},
	}
}

func toUS() payouts.Request {
	r := payoutTo("account", "USD", "000123456789", 2500)
	r.Bank, r.Country = "110000000", "USA"
	return r
}

// with returns a payout with a change.
func with(r payouts.Request, change func(*payouts.Request)) payouts.Request {
	change(&r)
	return r
}

// opened is the adapter, whose fake has the same clock.
func opened(latest **payoutFake) provider.Adapter {
	a := PayoutAdapter()
	open := a.OpenPayouts
	a.OpenPayouts = func(account provider.Account) (payouts.Provider, error) {
		(*latest).clock = account.Now
		return open(account)
	}
	return a
}

const noClosed = "a failed payment names no closed account, one that came back does (docs.stripe.com/api/v2/money-management/outbound-payments/object, status_details)"

func TestStripePaysOutAsTheCoreNeedsIt(t *testing.T) {
	var latest *payoutFake
	clabe := payoutTo("spei", "MXN", "646180157000000004", 45000)
	payouttest.Suite{
		Adapter: opened(&latest), Credentials: payoutCredentials(),
		New: func(*testing.T) payouttest.Fake {
			latest = &payoutFake{}
			return latest
		},
		Payouts: map[string]payouts.Request{
			"spei.MXN": clabe, "iban.EUR": payoutTo("iban", "EUR", "DE89370400440532013000", 2300), "iban.GBP": payoutTo("iban", "GBP", testIBAN, 1900), "account.USD": toUS(),
		},
		More: map[string]payouts.Request{
			"one centavo": payoutTo("spei", "MXN", "646180157000000004", 1), "millions": payoutTo("spei", "MXN", "646180157000000004", 1_000_000_000),
			"letters in an IBAN": payoutTo("iban", "EUR", "NL91ABNA0417164300", 5), "Bulgaria": payoutTo("iban", "EUR", "BG80BNBG96611020345678", 5),
			"savings":   with(toUS(), func(r *payouts.Request) { r.AccountType = "savings" }),
			"a company": with(clabe, func(r *payouts.Request) { r.Document = "ABC010203XY1" }),
			"a person":  with(clabe, func(r *payouts.Request) { r.Document, r.Name = "GOMA800101AB1", "Ana Gómez Ruiz" }),
		},
		Unsendable: map[string]payouts.Request{
			"nothing": payoutTo("spei", "MXN", "646180157000000004", 0), "less than nothing": payoutTo("spei", "MXN", "646180157000000004", -1),
			"another currency": with(clabe, func(r *payouts.Request) { r.Local.Currency = "USD" }),
			"another network":  payoutTo("pix", "BRL", "52998224725", 100), "an account in pounds": payoutTo("account", "GBP", "31926819", 100),
			"no CLABE": payoutTo("spei", "MXN", "64618015700000000", 100), "no IBAN": payoutTo("iban", "EUR", "", 100),
			"an IBAN of another currency's country": payoutTo("iban", "EUR", "CH9300762011623852957", 100), "pounds in Gibraltar": payoutTo("iban", "GBP", "GI75NWBK000000007099453", 100),
			"a British IBAN of another form": payoutTo("iban", "GBP", "GB29NWBK6016133192681A", 100),
			"dollars outside the States":     with(toUS(), func(r *payouts.Request) { r.Country = "PAN" }), "a bank without a number": with(toUS(), func(r *payouts.Request) { r.Bank = "11000000" }),
			"an account of letters": with(toUS(), func(r *payouts.Request) { r.Destination = "ABC12345" }),
			"nobody":                with(clabe, func(r *payouts.Request) { r.Name = "" }), "without mail": with(clabe, func(r *payouts.Request) { r.Email = "" }),
			"a person of one name": with(clabe, func(r *payouts.Request) { r.Document, r.Name = "GOMA800101AB1", "Ana" }),
		},
		Without: map[payouttest.Behaviour]string{payouttest.AccountClosed: noClosed},
		Settles: settles,
	}.Run(t)
}

// paying is an account at its own fake, and a payout that is sent for the first time.
func paying(t *testing.T, change ...func(map[string]string)) (*payer, *payoutFake, *payouttest.Line, payouts.Request) {
	t.Helper()
	f, credentials := &payoutFake{}, payoutCredentials()
	for _, c := range change {
		c(credentials)
	}
	p, line := payouttest.OpenAccount[*payer](t, opened(&f), credentials, f)
	r := payoutTo("spei", "MXN", "646180157000000004", 45000)
	r.Reference, r.Sent, r.Now, r.Calls = "01M7ZBVYT4", line.Time(), line.Time(), 1
	t.Cleanup(func() {
		if list := f.Complaints(); len(list) > 0 {
			t.Errorf("undocumented requests: %q", list)
		}
	})
	return p, f, line, r
}

// later returns a request for a query, after some time.
func later(line *payouttest.Line, r payouts.Request, d time.Duration) payouts.Request {
	line.Pass(d)
	r.Now = r.Now.Add(d)
	return r
}

func wantKind(t *testing.T, what string, o pay.PayoutOutcome, kind pay.PayoutKind, code string) {
	t.Helper()
	if o.Kind != kind || o.Code != code {
		t.Errorf("%s: it is %s %q (%s), want %s %q", what, o.Kind, o.Code, o.Message, kind, code)
	}
}

// Only the last call moves money: if an earlier one fails, nothing was paid. If the last one fails,
// that is proved only if Stripe refuses it or the call was never sent.
func TestTheFirstCallProvesWhatItDid(t *testing.T) {
	for _, fault := range payouttest.Faults() {
		for at := 1; at <= 3; at++ {
			p, f, line, r := paying(t)
			line.Fail(fault, at)
			limit := 10 * time.Second
			if fault == payouttest.LateBefore || fault == payouttest.LateAfter {
				limit = 300 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			o := p.Send(ctx, r)
			cancel()
			want := pay.PayoutUnknown
			if at < 3 || fault == payouttest.RateLimited || fault == payouttest.Unauthorized || fault == payouttest.Forbidden {
				want = pay.PayoutUnavailable
			}
			if o.Kind != want || want == pay.PayoutUnavailable && len(f.Books()) > 0 {
				t.Errorf("%s, call %d: it is %s (%s), want %s; the books have %+v", fault, at, o.Kind, o.Message, want, f.Books())
			}
			// The same failure in a second try proves nothing, since the first call may have paid.
			line.Fail(fault, at+1) // the list comes first
			r.Calls = 2
			ctx, cancel = context.WithTimeout(context.Background(), limit)
			if o := p.Send(ctx, r); o.Kind == pay.PayoutUnavailable || o.Kind == pay.PayoutRejected {
				t.Errorf("%s, call %d: again it is %s (%s)", fault, at, o.Kind, o.Message)
			}
			cancel()
		}
	}
}

// After a broken connection, the transport must not repeat the call: the answer would belong to the
// second call, and the first one may have paid.
func TestACallThatBrokeIsNotRepeatedByTheTransport(t *testing.T) {
	f, payments := &payoutFake{}, atomic.Int64{}
	p, _ := payouttest.OpenAccount[*payer](t, opened(&f), payoutCredentials(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != paymentsOf {
			f.ServeHTTP(w, r)
			return
		}
		if payments.Add(1) > 1 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		f.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler) // it closes the connection
	}))
	r := payoutTo("spei", "MXN", "646180157000000004", 45000)
	r.Reference, r.Sent, r.Now, r.Calls = "01M7ZBVYT4", providertest.Noon, providertest.Noon, 1
	wantKind(t, "the call", p.Send(context.Background(), r), pay.PayoutUnknown, "")
	if payments.Load() != 1 || len(f.Books()) != 1 {
		t.Errorf("%d calls, the books have %+v", payments.Load(), f.Books())
	}
}

// Stripe runs a failed call again with the same key, and forgets keys after a while.
func TestAKeyThatIsForgottenPaysNothingAgain(t *testing.T) {
	ctx := context.Background()
	for _, known := range []bool{true, false} {
		p, f, line, r := paying(t)
		f.Next(payouttest.Slow)
		first := p.Send(ctx, r)
		wantKind(t, "the call", first, pay.PayoutAccepted, "")
		f.keys = nil
		if known {
			r.ProviderRef = first.ProviderRef
			r = later(line, r, 31*24*time.Hour)
		} else {
			r.Calls = 2
			r = later(line, r, 23*time.Hour)
		}
		r.Sent = r.Now
		wantKind(t, "the call again", p.Send(ctx, r), pay.PayoutAccepted, "")
		if n := len(f.Books()); n != 1 {
			t.Errorf("known %t: there are %d payments", known, n)
		}
		line.Fail(payouttest.ServerError, 0)
		wantKind(t, "the call while nobody can look", p.Send(ctx, r), pay.PayoutUnknown, "")
		line.Fail(payouttest.NoFault, 0)
		if r.ProviderRef = "obp_gone"; known {
			wantKind(t, "a payment that was there", p.Send(ctx, r), pay.PayoutUnknown, "")
			wantKind(t, "a question about it", p.Query(ctx, r), pay.PayoutUnknown, "")
		}
	}
}

func TestWhatStripeRefuses(t *testing.T) {
	setup := func(path string, status int, kind, code string) map[string]refusing {
		return map[string]refusing{path: {status, kind, code}}
	}
	for name, c := range map[string]struct {
		says   map[string]refusing
		kind   pay.PayoutKind
		code   string
		second pay.PayoutKind // the same refusal of a later call
	}{
		"no money":              {setup(paymentsOf, 400, "insufficient_funds", ""), pay.PayoutUnavailable, "insufficient_funds", pay.PayoutUnavailable},
		"no money, another way": {setup(paymentsOf, 402, "invalid_request_error", "insufficient_funds"), pay.PayoutUnavailable, "insufficient_funds", pay.PayoutUnavailable},
		"not permitted":         {setup(paymentsOf, 403, "feature_not_enabled", ""), pay.PayoutUnavailable, "not_permitted", pay.PayoutUnknown},
		"closed":                {setup(paymentsOf, 400, "financial_account_not_open", ""), pay.PayoutUnavailable, "not_permitted", pay.PayoutUnknown},
		"a limit":               {setup(paymentsOf, 400, "", "recipient_amount_limit_exceeded"), pay.PayoutUnavailable, "limit_exceeded", pay.PayoutUnknown},
		"no capability":         {setup(paymentsOf, 400, "", "recipient_feature_not_active"), pay.PayoutUnavailable, "beneficiary_incomplete", pay.PayoutUnknown},
		"not found":             {setup(paymentsOf, 404, "", "to_recipient_not_found"), pay.PayoutUnavailable, "refused", pay.PayoutUnknown},
		"a wrong request":       {setup(paymentsOf, 400, "invalid_request_error", "parameter_invalid"), pay.PayoutUnavailable, "refused", pay.PayoutUnknown},
		"too often":             {setup(paymentsOf, 429, "rate_limit", ""), pay.PayoutUnavailable, "refused", pay.PayoutUnknown},
		"the key is in use":     {setup(paymentsOf, 409, "idempotency_error", ""), pay.PayoutUnknown, "", pay.PayoutUnknown},
		"the key is taken":      {setup(paymentsOf, 400, "idempotency_error", ""), pay.PayoutUnknown, "", pay.PayoutUnknown},
		"the key is used up":    {setup(paymentsOf, 400, "invalid_request_error", "idempotency_key_expired"), pay.PayoutUnknown, "", pay.PayoutUnknown},
		"Stripe broke":          {setup(paymentsOf, 500, "api_error", ""), pay.PayoutUnknown, "", pay.PayoutUnknown},
		"Stripe broke as 400":   {setup(paymentsOf, 400, "api_error", ""), pay.PayoutUnknown, "", pay.PayoutUnknown},
		"no recipients":         {setup(recipientsOf, 400, "invalid_request_error", ""), pay.PayoutUnavailable, "refused", pay.PayoutUnknown},
		"a taken recipient":     {setup(recipientsOf, 400, "idempotency_error", ""), pay.PayoutUnknown, "", pay.PayoutUnknown},
		"a busy recipient":      {setup(recipientsOf, 409, "", "busy"), pay.PayoutUnknown, "", pay.PayoutUnknown},
		"recipients broke":      {setup(recipientsOf, 500, "api_error", ""), pay.PayoutUnavailable, "unreachable", pay.PayoutUnknown},
		"a wrong account":       {setup(setupsOf, 400, "invalid_payment_method", ""), pay.PayoutRejected, "invalid_account", pay.PayoutUnknown},
		"a suspicious account":  {setup(setupsOf, 400, "blocked_by_stripe", ""), pay.PayoutRejected, "compliance_rejected", pay.PayoutUnknown},
		"no such accounts":      {setup(setupsOf, 400, "invalid_payout_method", ""), pay.PayoutUnavailable, "refused", pay.PayoutUnknown},
	} {
		p, f, line, r := paying(t)
		f.says = c.says
		wantKind(t, name, p.Send(context.Background(), r), c.kind, c.code)
		r.Calls = 2
		if o := p.Send(context.Background(), r); o.Kind != c.second {
			t.Errorf("%s, again: it is %s (%s), want %s", name, o.Kind, o.Message, c.second)
		}
		f.says = nil
		wantKind(t, name+", a question", p.Query(context.Background(), later(line, r, time.Hour)), pay.PayoutMissing, "")
	}
}

func TestABankAccountThatCannotBePaidYet(t *testing.T) {
	for name, change := range map[string]func(*payoutFake){
		"an action": func(f *payoutFake) { f.setup = "requires_action" }, "restricted": func(f *payoutFake) { f.restricted = true },
		"another status": func(f *payoutFake) { f.setup = "sleeping" },
	} {
		p, f, _, r := paying(t)
		change(f)
		if o := p.Send(context.Background(), r); o.Kind != pay.PayoutUnavailable || len(f.Books()) != 0 {
			t.Errorf("%s: %+v, the books have %+v", name, o, f.Books())
		}
	}
}

func TestPostedIsNoArrival(t *testing.T) {
	ctx := context.Background()
	noon := providertest.Noon
	for arrival, at := range map[string]time.Time{
		noon.Add(30 * time.Hour).Format(time.RFC3339):           noon.Add(30 * time.Hour),
		noon.Add(48 * time.Hour).Format("2006-01-02T00:00:00Z"): noon.Add(60 * time.Hour), // the end of that day
		"-":         noon.Add(7 * 24 * time.Hour), // no date is given: a week
		"nonsense!": noon.Add(7 * 24 * time.Hour),
	} {
		p, f, line, r := paying(t)
		f.Next(payouttest.Slow)
		p.Send(ctx, r)
		f.Complete(r.Reference)
		f.Must(r.Reference).arrival = arrival
		r.Now = r.Now.Add(1000 * time.Hour) // the merchant's test clock was moved
		r.Sent = r.Now
		wait := at.Sub(noon)
		r = later(line, r, wait-time.Second)
		o := p.Query(ctx, r)
		wantKind(t, arrival+" before", o, pay.PayoutAccepted, "")
		if !o.CheckAt.Equal(r.Now.Add(time.Second)) {
			t.Errorf("%s: the next query is at %s, want %s", arrival, o.CheckAt, r.Now.Add(time.Second))
		}
		if list, err := p.Notices(ctx, f.Notify(r.Reference)); err != nil || len(list) != 0 {
			t.Errorf("%s: it has not arrived, and the notification says %+v %v", arrival, list, err)
		}
		r = later(line, r, time.Second)
		wantKind(t, arrival, p.Query(ctx, r), pay.PayoutPaid, "")
		f.Return(r.Reference, payouttest.AccountClosed)
		wantKind(t, "back", p.Query(ctx, r), pay.PayoutReturned, "account_closed")
	}
	p, f, _, r := paying(t)
	p.Send(ctx, r)
	f.Must(r.Reference).Created, f.Must(r.Reference).arrival = time.Time{}, "-"
	if o := p.Query(ctx, with(r, func(r *payouts.Request) { r.ProviderRef = f.Must("01M7ZBVYT4").id() })); o.Kind != pay.PayoutPaid {
		t.Errorf("long ago: %+v", o)
	}
}
