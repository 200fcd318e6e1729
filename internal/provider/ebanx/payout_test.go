package ebanx

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

const testCPF, testRandom, testCLABE = "52998224725", "c4249323-b4ca-43f2-8139-8232aab09b93", "646180157000000004"

// overPix returns a payout to a Pix key.
func overPix(key, document string, centavos int64) payouts.Request {
	return payouts.Request{
		Amount: money.New(2600, money.USD), Net: money.New(2500, money.USD), Local: money.New(centavos, money.BRL),
		Type: pay.BankAccount, Network: "pix", Currency: "BRL", Destination: key,
		Beneficiary: pay.Beneficiary{Name: "Zé da Silva", Document: document, Email: "ze@example.com"},
	}
}

// overSPEI returns a payout to a CLABE.
func overSPEI(account, document string) payouts.Request {
	r := overPix(account, document, 45050)
	r.Local, r.Network, r.Currency = money.New(45050, money.MXN), "spei", "MXN"
	return r
}

func samplePayout() payouts.Request { return overPix(testCPF, testCPF, 12345) }

// but returns the sample with a change.
func but(change func(*payouts.Request)) payouts.Request {
	r := samplePayout()
	change(&r)
	return r
}

func TestEBANXPaysOutAsTheCoreNeedsIt(t *testing.T) {
	payouttest.Suite{
		Adapter: PayoutAdapter(), Credentials: credentials,
		New:     func(*testing.T) payouttest.Fake { return &payoutFake{} },
		Payouts: map[string]payouts.Request{"pix.BRL": samplePayout(), "spei.MXN": overSPEI(testCLABE, "GODE561231GR8")},
		More: map[string]payouts.Request{
			"a company with letters in its CNPJ": overPix("zef@example.com", "12ABC34501DE35", 100),
			"a company":                          overPix("11222333000181", "11222333000181", 1), "a telephone": overPix("+5511999999999", testCPF, 10),
			"a telephone without mobile": overPix("+551133334444", testCPF, 5), "an email address": overPix("a@example.com", testCPF, 100),
			"a random key": overPix(testRandom, testCPF, 1_000_000_00), "a company in Mexico": overSPEI(testCLABE, "ABC680524P76"),
			"a CURP": overSPEI(testCLABE, "HEGG560427MVZRRL04"),
		},
		Unsendable: map[string]payouts.Request{
			"no Pix key": overPix("529982247", testCPF, 100), "a key with letters": overPix("12ABC34501DE35", "12ABC34501DE35", 100), "a foreign telephone": overPix("+4915112345678", testCPF, 100), "nothing": overPix(testCPF, testCPF, 0),
			"less than nothing": overPix(testCPF, testCPF, -1), "no document": overPix(testCPF, "", 100), "a Mexican's document": overPix(testCPF, "GODE561231GR8", 100),
			"no name": but(func(r *payouts.Request) { r.Name = "" }), "no email address": but(func(r *payouts.Request) { r.Email = "" }),
			"no CLABE": overSPEI("6461801570000000", "GODE561231GR8"), "a Brazilian's document": overSPEI(testCLABE, testCPF),
			"dollars": but(func(r *payouts.Request) { r.Local = money.New(100, money.USD) }), "another network": but(func(r *payouts.Request) { r.Network = "account" }),
			"another currency arrives": but(func(r *payouts.Request) { r.Currency = "MXN" }),
		},
		Without: map[payouttest.Behaviour]string{
			payouttest.Compliance: "no reason of a canceled payout is of compliance (canceledErrors); orders are refused for it",
			payouttest.ComesBack:  "the report speaks of reverted payouts (reports/payouts-report); no status and no notification of one is documented",
		},
		Settles: settles,
	}.Run(t)
}

// EBANX takes letters in each field document (docs.ebanx.com, alphanumeric CNPJ), but its page of Pix has fourteen digits as a key.
func TestCNPJWithLettersIsADocumentAndNoKey(t *testing.T) {
	p, _, _, r := paying(t)
	if r.Document = "12ABC34501DE35"; p.Fits(r) != nil {
		t.Errorf("as the holder's document: %v", p.Fits(r))
	}
	r.Destination = r.Document
	if err := p.Fits(r); err == nil || !strings.Contains(err.Error(), "letters") {
		t.Errorf("as a key: %v", err)
	}
}

// paying is an account at its own fake, and a payout that is sent for the first time.
func paying(t *testing.T) (*payer, *payoutFake, *payouttest.Line, payouts.Request) {
	t.Helper()
	f := &payoutFake{}
	return payingAt(t, f, f)
}

// hostile is paying at a fake that may answer what no document allows.
func hostile(t *testing.T) (*payer, *payoutFake, *payouttest.Line, payouts.Request) {
	t.Helper()
	f := &payoutFake{}
	return payingAt(t, f, http.HandlerFunc(f.ServeHTTP))
}

func payingAt(t *testing.T, f *payoutFake, upstream http.Handler) (*payer, *payoutFake, *payouttest.Line, payouts.Request) {
	t.Helper()
	p, line := payouttest.OpenAccount[*payer](t, PayoutAdapter(), credentials, upstream)
	r := samplePayout()
	r.Reference, r.Calls, r.Sent, r.Now = "01M7ZBVYT4", 1, line.Time(), line.Time()
	t.Cleanup(func() {
		if list := f.Complaints(); len(list) > 0 {
			t.Errorf("undocumented requests: %q", list)
		}
	})
	return p, f, line, r
}

// saying returns an account at a provider that answers everything in the same way.
func saying(t *testing.T, status int, text string) (*payer, payouts.Request) {
	t.Helper()
	p, line := payouttest.OpenAccount[*payer](t, PayoutAdapter(), credentials, providertest.Says(status, text))
	r := samplePayout()
	r.Reference, r.Calls, r.Sent, r.Now = "01M7ZBVYT4", 1, line.Time(), line.Time().Add(time.Hour)
	return p, r
}

func wantPayout(t *testing.T, what string, o pay.PayoutOutcome, kind pay.PayoutKind, code string) {
	t.Helper()
	if o.Kind != kind || o.Code != code {
		t.Errorf("%s: it is %s %q (%s), want %s %q", what, o.Kind, o.Code, o.Message, kind, code)
	}
}

func TestOnlyTheFirstCallProvesThatNothingWasDone(t *testing.T) {
	ctx := context.Background()
	for fault, code := range map[payouttest.Fault]string{payouttest.RateLimited: "rate_limited", payouttest.Unauthorized: "not_permitted", payouttest.Forbidden: "not_permitted"} {
		p, f, line, r := paying(t)
		line.Fail(fault, 0)
		wantPayout(t, string(fault), p.Send(ctx, r), pay.PayoutUnavailable, code)
		r.Calls = 2
		wantPayout(t, string(fault)+", the second call", p.Send(ctx, r), pay.PayoutUnknown, "")
		r.Calls, r.ProviderRef = 1, "0f28"
		wantPayout(t, string(fault)+", and it was there", p.Send(ctx, r), pay.PayoutUnknown, "")
		if len(f.Books()) != 0 {
			t.Errorf("%s: %+v", fault, f.Books())
		}
	}
	p, _, line, r := paying(t)
	line.Close()
	wantPayout(t, "nobody is there", p.Send(ctx, r), pay.PayoutUnavailable, "unreachable")
	late := provider.Fenced(ctx, func() bool { return false })
	wantPayout(t, "nobody is there, and it is too late", p.Send(late, r), pay.PayoutUnknown, "")
	r.Calls = 2
	wantPayout(t, "nobody is there, the second call", p.Send(ctx, r), pay.PayoutUnknown, "")
	p, r = saying(t, http.StatusOK, `{"type":"authentication_error","message":"no"}`)
	wantPayout(t, "a wrong key", p.Send(ctx, r), pay.PayoutUnavailable, "not_permitted")
	wantPayout(t, "a question with a wrong key", p.Query(ctx, r), pay.PayoutUnknown, "")
}

func TestAnOpenPayoutIsCommittedByTheNextCallAlone(t *testing.T) {
	ctx := context.Background()
	p, f, line, r := paying(t)
	f.commit = denial("HP-ZZ-51", "No")
	wantPayout(t, "the call", p.Send(ctx, r), pay.PayoutAccepted, "not_committed")
	if !slices.Contains(line.Words(), "commit: HP-ZZ-51") {
		t.Errorf("reported to the operator: %q", line.Words())
	}
	f.commit = nil
	wantPayout(t, "the question", p.Query(ctx, r), pay.PayoutUnsent, "")
	if b := f.Books()[0]; b.Times != 0 {
		t.Fatalf("a query committed it: %+v", b)
	}
	r.Calls = 2
	wantPayout(t, "the next call", p.Send(ctx, r), pay.PayoutAccepted, "")
	wantPayout(t, "the next question", p.Query(ctx, r), pay.PayoutPaid, "")
	for _, kind := range []string{"api_error", "authentication_error", "request_error"} {
		p, f, _, r := hostile(t)
		f.commit = map[string]any{"type": kind}
		wantPayout(t, kind, p.Send(ctx, r), pay.PayoutUnknown, "")
	}
}

// It is not documented whether a committed payout stays OP for a while.
func TestACommittedPayoutThatIsStillOpenIsPaidOnce(t *testing.T) {
	ctx := context.Background()
	p, f, _, r := paying(t)
	f.lags = true
	f.Next(payouttest.Slow)
	wantPayout(t, "the call", p.Send(ctx, r), pay.PayoutAccepted, "")
	wantPayout(t, "the question", p.Query(ctx, r), pay.PayoutUnsent, "")
	r.Calls = 2
	wantPayout(t, "the call again", p.Send(ctx, r), pay.PayoutAccepted, "not_committed")
	f.Complete(r.Reference)
	wantPayout(t, "the call after it was paid", p.Send(ctx, r), pay.PayoutPaid, "")
	if b := f.Books(); len(b) != 1 || b[0].Times != 1 {
		t.Errorf("%+v", b)
	}
}

// A person may use our reference in EBANX's dashboard.
func TestOnlyWhatWasOrderedIsCommitted(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		document string
		asked    money.Amount
		paid     bool
	}{
		"ours": {testCPF, money.New(12345, money.BRL), true}, "ours, written otherwise": {"529.982.247-25", money.New(12345, money.BRL), true},
		"to an unknown recipient": {"", money.New(12345, money.BRL), true}, "another amount": {testCPF, money.New(12346, money.BRL), false},
		"another currency": {testCPF, money.New(12345, money.USD), false}, "another person": {"11144477735", money.New(12345, money.BRL), false},
	} {
		p, f, _, r := paying(t)
		f.Enter(&fakePayout{uid: "f0", document: c.document, Entry: payouttest.Entry{Reference: r.Reference, Destination: r.Destination, Asked: c.asked}})
		o := p.Query(ctx, r)
		if c.paid != (o.Kind == pay.PayoutUnsent) || !c.paid && o.Kind != pay.PayoutUnknown {
			t.Errorf("%s: asked, %+v", name, o)
		}
		o = p.Send(ctx, r)
		if paid := f.Books()[0].Times == 1; paid != c.paid || !paid && o.Kind != pay.PayoutUnknown {
			t.Errorf("%s: paid %t, %+v", name, paid, o)
		}
	}
	elsewhere := `{"type":"success","payout":{"uid":"f0","external_reference":"01M7ZBVYT4","status":"OP","request_amount":"450.50","request_currency":"MXN","payee":{"bank_info":{"bank_details":"002010077777777771"}}}}`
	p, r := saying(t, http.StatusOK, elsewhere)
	mexican := overSPEI(testCLABE, "GODE561231GR8")
	mexican.Reference, mexican.Calls, mexican.Now = r.Reference, 1, r.Now
	wantPayout(t, "another CLABE", p.Query(ctx, mexican), pay.PayoutUnknown, "")
}
