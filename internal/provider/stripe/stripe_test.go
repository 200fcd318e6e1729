package stripe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func credentials() map[string]string {
	return map[string]string{"secretKey": testKey, "webhookSecret": testSecret}
}

// samples has a charge for each rail.
func samples() map[string]provider.Request {
	buyer := pay.Buyer{Email: "ana@example.com", Name: "Ana Souza", Document: "52998224725", IP: "203.0.113.9"}
	of := func(minor int64, c money.Currency, country string) provider.Request {
		return provider.Request{Local: money.New(minor, c), Amount: money.New(1000, money.USD), Country: country, Buyer: buyer}
	}
	list := map[string]provider.Request{
		"pix.BRA": of(5000, money.BRL, "BRA"), "boleto.BRA": of(5000, money.BRL, "BRA"),
		"cash.oxxo.MEX": of(19_950, money.MXN, "MEX"), "spei.MEX": of(100_000, money.MXN, "MEX"),
	}
	for country, currency := range map[string]money.Currency{
		"ARG": "ARS", "BOL": "BOB", "BRA": "BRL", "CHL": "CLP", "COL": "COP", "CRI": "CRC", "DOM": "DOP", "ECU": "USD", "GTM": "GTQ", "HND": "HNL",
		"MEX": "MXN", "PAN": "USD", "PER": "PEN", "PRY": "PYG", "SLV": "USD", "URY": "UYU", "USA": "USD",
	} {
		r := of(123_400, currency, country)
		r.Sync = true
		list["card."+country] = r
	}
	return list
}

const eightDigits = "docs.stripe.com/currencies: an amount has up to eight digits"

func suite(f func() *fake) providertest.Suite {
	s := providertest.Suite{
		Adapter: Adapter(), Credentials: credentials(), Charges: samples(),
		New:    func(*testing.T) providertest.Fake { return f() },
		Hosted: map[string]string{"boleto.BRA": "docs: Checkout, boleto"},
		Beyond: map[string]string{
			"spei.MEX": eightDigits, "card.ARG": eightDigits, "card.COL": eightDigits, "card.CRI": eightDigits,
		},
		Amounts: map[string][]money.Amount{
			"pix.BRA":  {money.New(1, "BRL"), money.New(99_999_999, "BRL")}, // from 0.01 to eight digits
			"card.CHL": {money.New(1, "CLP"), money.New(99_999_999, "CLP")}, // no decimals
			"card.PRY": {money.New(1, "PYG"), money.New(99_999_999, "PYG")},
			"card.CRI": {money.New(99_999_999, "CRC")},
			"card.USA": {money.New(1, "USD"), money.New(99_999_999, "USD")},
			"card.URY": {money.New(1, "UYU")},
			"card.COL": {money.New(1, "COP"), money.New(123_456_00, "COP")}, // two decimals, although shops print none
			"spei.MEX": {money.New(1, "MXN")},
		},
		Unrefundable: map[string]string{
			"boleto.BRA": "docs.stripe.com/payments/boleto: Refunds / Partial refunds: No / No", "cash.oxxo.MEX": "docs.stripe.com/payments/oxxo: No / No",
		},
	}
	s.Page = &providertest.CardPage{
		Codes: [2]string{"insufficient_funds", "do_not_honor"}, Means: [2]decline.Reason{decline.InsufficientFunds, decline.DoNotHonor},
		Installments: "card.MEX", Installed: money.New(2_400_00, money.MXN),
	}
	for rail := range s.Charges {
		if _, hosted := method(rail); hosted {
			s.Hosted[rail] = "docs.stripe.com/payments/checkout: a session stays open after a decline"
		}
	}
	return s
}

func TestAdapter(t *testing.T) { suite(newFake).Run(t) }

// Network failures have the same results on the hosted rails, and so do charges
// on a later page of a list.
func TestHostedRailsAndLongLists(t *testing.T) {
	s := suite(func() *fake {
		f := newFake()
		f.page = 1
		return f
	})
	s.Adapter.Rails, s.Charges, s.Amounts = []string{"card.MEX"}, map[string]provider.Request{"card.MEX": s.Charges["card.MEX"]}, nil
	s.Run(t)
}

// bench is the adapter, connected to the fake.
type bench struct {
	*Provider
	*fake
	line *providertest.Line
}

func connect(t *testing.T) *bench {
	t.Helper()
	b := &bench{fake: newFake()}
	b.Provider, b.line = providertest.OpenAccount[*Provider](t, Adapter(), credentials(), b.fake)
	return b
}

// request returns the sample of a rail.
func request(rail, reference string) provider.Request {
	return providertest.Under(samples()[rail], rail, reference)
}

func ctx() context.Context { return context.Background() }

// A deadline moves with the clock, so a repeated call may differ from the first one
// with its key. The result is then the existing charge, not an error.
func TestARepeatedChargeWithAnotherDeadline(t *testing.T) {
	b := connect(t)
	r := request("card.BRA", "01M7ZAGAIN-1")
	first := b.Charge(ctx(), r)
	r.Now = r.Now.Add(10 * time.Minute)
	b.Now = func() time.Time { return r.Now }
	again := b.Charge(ctx(), r)
	if again.Kind != pay.Awaiting || again.ProviderRef != first.ProviderRef || len(b.Books()) != 1 {
		t.Errorf("the second call: %+v, want the result of the first: %+v", again, first)
	}
}

// An expired session proves that nobody pays any more once no payment on it is under way. A challenge that the shopper left is not waited
// for longer than an hour. Neither a query nor the session's own event ends the payment before (PAY-39).
func TestAPageEndsOnceNothingIsUnderWay(t *testing.T) {
	for status, want := range map[string]pay.OutcomeKind{
		"requires_action": pay.Unknown, "processing": pay.Unknown, "requires_confirmation": pay.Unknown, "requires_capture": pay.Unknown,
		"requires_payment_method": pay.Lapsed, "canceled": pay.Lapsed,
	} {
		b := connect(t)
		r := request("card.MEX", "01M7ZGOING-1")
		r.ProviderRef = b.Charge(ctx(), r).ProviderRef
		b.Charges[0].going = status
		if o := b.Cancel(ctx(), r); o.Kind != want {
			t.Errorf("%s: the end is %s, want %s", status, o.Kind, want)
		}
		if o := b.Cancel(ctx(), r); o.Kind != want {
			t.Errorf("%s: the end again is %s, want %s", status, o.Kind, want)
		}
		r.ProviderRef = ""
		if o := b.Cancel(ctx(), r); o.Kind != want {
			t.Errorf("%s: the end by our reference is %s, want %s", status, o.Kind, want)
		}
		if o := b.Query(ctx(), r); o.Kind != want { // the sweep asks a moment later
			t.Errorf("%s: a query says %s, want %s", status, o.Kind, want)
		}
		told, err := b.Notices(ctx(), notification("evt_end", "checkout.session.expired", b.Charges[0].session(false))) // and Stripe tells us of our own call
		if ends := len(told) == 1 && told[0].Outcome.Kind == pay.Lapsed; err != nil || ends != (want == pay.Lapsed) {
			t.Errorf("%s: its event is %d notices, %v; want the end to be %s", status, len(told), err, want)
		}
		r.ProviderRef = "cs_test_1"
		b.Now = func() time.Time { return r.Expires.Add(challenge + time.Second) }
		if o := b.Cancel(ctx(), r); o.Kind != pay.Lapsed {
			t.Errorf("%s: an hour later the end is %s", status, o.Kind)
		}
		b.Charges[0].going = ""
		b.Move(r.Reference, providertest.Paid)
		if o := b.Cancel(ctx(), r); o.Kind != pay.Approved {
			t.Errorf("%s: it was paid after all: %s", status, o.Kind)
		}
	}
}

// A list with more pages than we read proves nothing.
func TestALongListIsNoProof(t *testing.T) {
	b := connect(t)
	b.page = 1
	for n := range maxPages + 1 {
		b.Charge(ctx(), request("pix.BRA", fmt.Sprintf("01M7ZLONG%d-1", n)))
	}
	if o := b.Query(ctx(), request("pix.BRA", "01M7ZNEVER-1")); o.Kind != pay.Unknown {
		t.Errorf("after %d pages: %s, want unknown", maxPages, o.Kind)
	}
	if o := b.Query(ctx(), request("pix.BRA", "01M7ZLONG5-1")); o.Kind != pay.Awaiting {
		t.Errorf("on page 46: %s, want pending", o.Kind)
	}
	b.page = 100
	if o := b.Query(ctx(), request("pix.BRA", "01M7ZNEVER-1")); o.Kind != pay.Missing {
		t.Errorf("on one page: %s, want missing", o.Kind)
	}
}

// The merchant's test clock may have moved since the payment was created.
func TestAMovedClockHidesNoCharge(t *testing.T) {
	b := connect(t)
	r := request("pix.BRA", "01M7ZMOVED-1")
	r.Sent, r.Now = r.Sent.Add(90*day), r.Now.Add(90*day)
	b.Charge(ctx(), r)
	r.Now = r.Now.Add(30 * day)
	if o := b.Query(ctx(), r); o.Kind != pay.Awaiting {
		t.Errorf("%s, want pending", o.Kind)
	}
}

// A charge whose id we have is never missing: another account's key, for instance,
// proves nothing.
func TestAChargeThatWasThereIsNotMissing(t *testing.T) {
	for rail, ref := range map[string]string{"pix.BRA": "pi_999", "card.BRA": "cs_test_999"} {
		b := connect(t)
		r := request(rail, "01M7ZGONE-1")
		r.ProviderRef = ref
		if o := b.Query(ctx(), r); o.Kind != pay.Unknown {
			t.Errorf("%s: %s, want unknown", rail, o.Kind)
		}
	}
}

// A charge with another reference is not ours, even if we have its id.
func TestAnotherChargesIDTellsNothing(t *testing.T) {
	for _, rail := range []string{"pix.BRA", "card.BRA"} {
		b := connect(t)
		r := request(rail, "01M7ZMINE-1")
		r.ProviderRef = b.Charge(ctx(), request(rail, "01M7ZOTHER-1")).ProviderRef
		b.Move("01M7ZOTHER-1", providertest.Paid)
		if o := b.Query(ctx(), r); o.Kind != pay.Unknown {
			t.Errorf("%s: %s, want unknown", rail, o.Kind)
		}
	}
}

func TestVouchersLiveAsLongAsTheShopperWasPromised(t *testing.T) {
	for window, want := range map[time.Duration]string{time.Hour: "1", day: "1", day + time.Second: "2", 3 * day: "3", 30 * day: "7"} {
		b := connect(t)
		r := request("cash.oxxo.MEX", "01M7ZDAYS-1")
		r.Expires = r.Created.Add(window)
		b.Charge(ctx(), r)
		if got := b.seen[0].Get("payment_method_options[oxxo][expires_after_days]"); got != want {
			t.Errorf("%s: %s days, want %s", window, got, want)
		}
	}
}

// Requests that Stripe would refuse are not sent.
func TestChargesThatLackSomething(t *testing.T) {
	for want, change := range map[string]func(*provider.Request){
		"buyer_name_missing":     func(r *provider.Request) { r.Buyer.Name = "Cher " },
		"buyer_email_missing":    func(r *provider.Request) { r.Buyer.Email = "" },
		"currency_not_supported": func(r *provider.Request) { r.Local = money.New(100, "ISK") },
		"invalid_amount":         func(r *provider.Request) { r.Local.Minor = -1 },
	} {
		b := connect(t)
		r := request("cash.oxxo.MEX", "01M7ZLACK-1")
		change(&r)
		if o := b.Charge(ctx(), r); o.Kind != pay.Errored || o.Decline != want || b.line.Calls() != 0 {
			t.Errorf("want %s and no call: %+v after %d", want, o, b.line.Calls())
		}
	}
	b := connect(t)
	r := transfer("01M7ZNOBODY-1", 100)
	r.Buyer.Email = " "
	if o := b.Charge(ctx(), r); o.Kind != pay.Errored || o.Decline != "buyer_email_missing" || b.line.Calls() != 0 {
		t.Errorf("a transfer that could not be refunded: %+v", o)
	}
	r = request("pix.BRA", "01M7ZLARGE-1")
	r.Local.Minor = 100_000_000
	if o := b.Charge(ctx(), r); o.Kind != pay.Errored || o.Decline != "amount_too_large" {
		t.Errorf("nine digits: %+v", o)
	}
}

func TestRefundsByStatus(t *testing.T) {
	for status, want := range map[string]pay.OutcomeKind{
		"succeeded": pay.Approved, "pending": pay.Awaiting, "requires_action": pay.Awaiting, "failed": pay.Declined, "canceled": pay.Declined, "odd": pay.Unknown,
	} {
		b := connect(t)
		r := request("pix.BRA", "01M7ZBACK-1")
		b.Charge(ctx(), r)
		b.Move(r.Reference, providertest.Paid)
		b.fake.refunds = status
		back := provider.RefundRequest{Reference: "CLM1-1", Charge: r, Local: money.New(100, "BRL")}
		if o := b.Refund(ctx(), back); o.Kind != want || o.Kind == pay.Declined && o.Decline == "" {
			t.Errorf("%s: %+v, want %s", status, o, want)
		}
		if o := b.QueryRefund(ctx(), back); o.Kind != want || o.Local != back.Local {
			t.Errorf("asked, %s: %+v, want %s", status, o, want)
		}
		if (status == "odd") != (len(b.line.Unmapped()) > 0) {
			t.Errorf("%s: told of %v", status, b.line.Unmapped())
		}
	}
}

// An unpaid charge cannot be refunded.
func TestARefundOfWhatWasNeverPaid(t *testing.T) {
	b := connect(t)
	r := request("card.BRA", "01M7ZOPEN-1")
	for range 2 {
		if o := b.Refund(ctx(), provider.RefundRequest{Reference: "CLM1-1", Charge: r, Local: r.Local}); o.Kind != pay.Declined {
			t.Errorf("%+v, want declined", o)
		}
		r.ProviderRef = b.Charge(ctx(), r).ProviderRef
	}
}

func TestInvalidCredentialsAreRefused(t *testing.T) {
	for field, values := range map[string][]string{
		"secretKey":     {"pk_test_1", "sk_live_1", "rk_live_1", "sk_test_1\n", "sk_1", "test_1"},
		"webhookSecret": {"sk_test_0123456789abcdef", "whsec_ 0123456789abcdef", "whsec_012345678"},
	} {
		for _, value := range values {
			c := credentials()
			c[field] = value
			_, err := open(provider.Account{Credentials: c})
			var wrong *provider.FieldError
			if !errors.As(err, &wrong) || wrong.Field != field || strings.Contains(err.Error(), value) {
				t.Errorf("%s %q: %v", field, value, err)
			}
		}
	}
	c := credentials()
	c["secretKey"] = "rk_live_1"
	if _, err := open(provider.Account{Credentials: c, Live: true}); err != nil {
		t.Errorf("a restricted key: %v", err)
	}
}

// A wrong key causes a clear message, which does not contain the key.
func TestAWrongKey(t *testing.T) {
	b := connect(t)
	b.key = "sk_test_wrong"
	if err := b.Check(ctx()); err == nil || !strings.Contains(err.Error(), "not valid") || strings.Contains(err.Error(), b.key) {
		t.Errorf("%v", err)
	}
	if o := b.Charge(ctx(), request("pix.BRA", "01M7ZKEY-1")); o.Kind != pay.Unavailable {
		t.Errorf("a charge: %+v", o)
	}
}
