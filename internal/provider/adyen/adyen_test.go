package adyen

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func credentials() map[string]string {
	return map[string]string{"apiKey": testKey, "merchantAccount": merchant, "hmacKey": hmacKey}
}

// samples has a charge for each rail.
func samples() map[string]provider.Request {
	of := func(minor int64, c money.Currency, country string) provider.Request {
		return provider.Request{
			Local: money.New(minor, c), Amount: money.New(1000, money.USD), Country: country,
			Buyer: pay.Buyer{Email: "ana@example.com", Name: "Ana Maria Souza", Document: "52998224725", IP: "203.0.113.9"},
		}
	}
	list := map[string]provider.Request{"pix.BRA": of(5000, "BRL", "BRA"), "cash.oxxo.MEX": of(19_950, "MXN", "MEX")}
	for country, currency := range map[string]money.Currency{
		"ARG": "ARS", "BRA": "BRL", "CHL": "CLP", "COL": "COP", "MEX": "MXN", "PER": "PEN", "URY": "UYU", "USA": "USD",
	} {
		r := of(123_400, currency, country)
		r.Sync = true
		list["card."+country] = r
	}
	return list
}

func suite() providertest.Suite {
	s := providertest.Suite{
		Adapter: Adapter(), Credentials: credentials(), Charges: samples(), Hosted: map[string]string{},
		New:          func(*testing.T) providertest.Fake { return newFake() },
		Blind:        "Checkout API v72: no call finds a payment by reference, or tells how it stands",
		KeyAlone:     "Checkout API v72: no call lists the refunds of a payment",
		RefundsLater: true,
		Page: &providertest.CardPage{
			Codes: [2]string{"Not enough balance", "Refused"}, Means: [2]decline.Reason{decline.InsufficientFunds, decline.DoNotHonor},
			Unasked:      "CheckoutService-v72, PaymentLinkResponse: it has no payment",
			Installments: "card.BRA",
		},
		Unrefundable: map[string]string{"cash.oxxo.MEX": "docs.adyen.com, OXXO: no refunds; the matrix of hyperswitch's connector agrees"},
		Without: map[providertest.Ending]string{
			providertest.Expired:  "a link that expires is told of by no event; codes and vouchers are tested here",
			providertest.Canceled: "only links can be canceled; tested here",
		},
		Unsigned: func(n provider.Notification) provider.Notification {
			var signed struct {
				Items []struct {
					Item struct {
						More struct {
							Signature string `json:"hmacSignature"`
						} `json:"additionalData"`
					} `json:"NotificationRequestItem"`
				} `json:"notificationItems"`
			}
			if err := json.Unmarshal(n.Body, &signed); err != nil {
				panic(err)
			}
			other := base64.StdEncoding.EncodeToString(make([]byte, 32))
			n.Body = []byte(strings.Replace(string(n.Body), signed.Items[0].Item.More.Signature, other, 1))
			return n
		},
		Amounts: map[string][]money.Amount{
			"pix.BRA":  {money.New(1, "BRL"), money.New(99_999_999, "BRL")},
			"card.CHL": {money.New(1, "CLP"), money.New(99_999_999, "CLP")}, // a hundred of Adyen's units each
			"card.COL": {money.New(1, "COP"), money.New(12_345_600, "COP")},
			"card.URY": {money.New(1, "UYU")},
		},
	}
	for rail := range s.Charges {
		if _, hosted := method(rail); hosted {
			s.Hosted[rail] = "docs.adyen.com, Pay by Link: a link stays active after a decline"
		}
	}
	return s
}

func TestAdapter(t *testing.T) { suite().Run(t) }

// Network failures have the same results on the hosted rails.
func TestHostedRails(t *testing.T) {
	s := suite()
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

func request(rail, reference string) provider.Request {
	return providertest.Under(samples()[rail], rail, reference)
}

func ctx() context.Context { return context.Background() }

// A Chilean peso is a hundred of Adyen's units; a part of it is no amount.
func TestChileanPesosHaveTwoDecimalsThere(t *testing.T) {
	b := connect(t)
	r := request("card.CHL", "01M7ZCLP-1")
	b.Charge(ctx(), r)
	if a := b.seen[0]["amount"].(object); a["value"] != float64(r.Local.Minor*100) {
		t.Errorf("%v was requested, want %d", a, r.Local.Minor*100)
	}
	n := notification(object{"eventCode": "AUTHORISATION", "success": "true", "pspReference": "P1", "merchantReference": r.Reference,
		"amount": object{"value": int64(150), "currency": "CLP"}, "paymentMethod": "visa"})
	list, err := b.Notices(ctx(), n)
	if err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.Unknown {
		t.Errorf("half a peso: %+v %v, want unknown", list, err)
	}
}

// What a buyer's data lacks, or has too much of, is left out: it is optional, and Adyen would refuse the whole payment.
func TestOddBuyers(t *testing.T) {
	for name, buyer := range map[string]pay.Buyer{
		"nothing":                   {},
		"one name":                  {Name: "Ana"},
		"a name of one long word":   {Name: "Ana " + strings.Repeat("\u00e3", 200)},
		"a quoted address":          {Email: `"ana maria"@example.com`},
		"a document of 40":          {Document: strings.Repeat("1", 40)},
		"more than a network sends": {IP: strings.Repeat("1", 51), Email: strings.Repeat("a", 300) + "@example.com"},
	} {
		for _, rail := range []string{"pix.BRA", "card.BRA", "cash.oxxo.MEX"} {
			b := connect(t)
			r := request(rail, "01M7ZODD-1")
			r.Buyer = buyer
			if o := b.Charge(ctx(), r); o.Kind != pay.Awaiting {
				t.Errorf("%s, %s: %s (%s)", rail, name, o.Kind, o.Decline)
			}
		}
	}
}

// A code and a voucher have one currency; a card's page takes those whose units are known.
func TestCurrenciesByRail(t *testing.T) {
	for _, c := range []struct {
		rail  string
		local money.Amount
		takes bool
	}{
		{"pix.BRA", money.New(1, "BRL"), true}, {"pix.BRA", money.New(1, "USD"), false},
		{"cash.oxxo.MEX", money.New(1, "MXN"), true}, {"cash.oxxo.MEX", money.New(1, "BRL"), false},
		{"card.CHL", money.New(1, "CLP"), true}, {"card.PER", money.New(1, "USD"), true}, {"card.USA", money.New(1, "EUR"), false},
	} {
		b := connect(t)
		r := request(c.rail, "01M7ZUNITS-1")
		r.Local = c.local
		if o := b.Charge(ctx(), r); b.Accepts(c.rail, c.local) != c.takes || (o.Kind == pay.Awaiting) != c.takes {
			t.Errorf("%s of %s: takes %t, the charge is %s; want %t", c.rail, c.local, b.Accepts(c.rail, c.local), o.Kind, c.takes)
		}
	}
}

func TestTheEndOfALink(t *testing.T) {
	b := connect(t)
	r := request("card.BRA", "01M7ZLINK-1")
	r.ProviderRef = b.Charge(ctx(), r).ProviderRef
	b.Move(r.Reference, providertest.Expired)
	if o := b.Query(ctx(), r); o.Kind != pay.Lapsed {
		t.Errorf("an expired link: %s, want expired", o.Kind)
	}
	for ending, want := range map[providertest.Ending]pay.OutcomeKind{providertest.Open: pay.Lapsed, providertest.Expired: pay.Lapsed, providertest.Paid: pay.Unknown} {
		for _, known := range []bool{true, false} {
			b := connect(t)
			r := request("card.BRA", "01M7ZLINK-1")
			if ref := b.Charge(ctx(), r).ProviderRef; known {
				r.ProviderRef = ref
			}
			b.Move(r.Reference, ending)
			for range 2 {
				if o := b.Cancel(ctx(), r); o.Kind != want {
					t.Errorf("a cancel of a link that is %s, its id known %t: %s, want %s", ending, known, o.Kind, want)
				}
			}
		}
	}
	if o := b.Cancel(ctx(), request("pix.BRA", "01M7ZPIX-1")); o.Kind != pay.Awaiting || len(b.Books()) != 1 {
		t.Errorf("a cancel of a code: %s", o.Kind)
	}
}

// Each documented state of a payment and of a link is read, and none says that money came: a notification does. What is not
// expected of a code or a voucher is unknown, and reported.
func TestDocumentedStates(t *testing.T) {
	read := map[string]pay.OutcomeKind{
		"active": pay.Awaiting, "completed": pay.Awaiting, "paid": pay.Awaiting, "paymentPending": pay.Awaiting, "expired": pay.Lapsed,
		"Pending": pay.Awaiting, "PresentToShopper": pay.Awaiting, "Received": pay.Awaiting, "Refused": pay.Declined, "Error": pay.Declined, "Cancelled": pay.Declined,
	}
	for _, w := range documented.Words() {
		b := connect(t)
		var o pay.Outcome
		if strings.Contains(w.Call, "link") {
			o = b.link(paymentLink{ID: "PL1", Status: w.Word, URL: "https://test.adyen.link/PL1"}, request("card.BRA", "X-1"))
		} else {
			var made payment
			text := providertest.JSON(object{"pspReference": "P1", "resultCode": w.Word, "action": object{"type": "qrCode", "qrCodeData": "00"}})
			if err := json.Unmarshal(text, &made); err != nil {
				t.Fatal(err)
			}
			o = b.payment(made, request("pix.BRA", "X-1"))
		}
		want, known := read[w.Word]
		if !known {
			want = pay.Unknown
		}
		if o.Kind != want || known == (len(b.line.Unmapped()) > 0) {
			t.Errorf("%s, %s: %s, told of %v; want %s", w.Call, w.Word, o.Kind, b.line.Unmapped(), want)
		}
	}
}

// Only a fault of ours proves that nothing was made: Adyen's own fault proves nothing, whatever the status.
func TestErrorsByType(t *testing.T) {
	for kind, want := range map[string]pay.OutcomeKind{
		"validation": pay.Errored, "configuration": pay.Errored, "internal": pay.Unknown, "quantum": pay.Unknown, "": pay.Unknown,
	} {
		for _, status := range []int{400, 422} {
			reply := provider.Reply{Status: status, Body: providertest.JSON(object{"errorCode": "905", "errorType": kind})}
			if f := failed(reply); f.outcome.Kind != want {
				t.Errorf("%d of type %q: %s, want %s", status, kind, f.outcome.Kind, want)
			}
		}
	}
	for _, status := range []int{401, 403} {
		for kind, want := range map[string]pay.OutcomeKind{"security": pay.Unavailable, "internal": pay.Unknown} {
			if f := failed(provider.Reply{Status: status, Body: providertest.JSON(object{"errorType": kind})}); f.outcome.Kind != want {
				t.Errorf("%d of type %q: %s, want %s", status, kind, f.outcome.Kind, want)
			}
		}
	}
}

// After the lifetime of the key, a repeated call would be a second charge.
func TestOldChargeIsNotQueried(t *testing.T) {
	b := connect(t)
	r := request("pix.BRA", "01M7ZOLD-1")
	r.Now = r.Sent.Add(keyLife + time.Second)
	if o := b.Query(ctx(), r); o.Kind != pay.Unknown || b.line.Calls() != 0 {
		t.Errorf("%s after %d calls, want unknown and none", o.Kind, b.line.Calls())
	}
}

func TestAnOldRefundIsNotRepeated(t *testing.T) {
	b := connect(t)
	r := request("pix.BRA", "01M7ZBACK-1")
	r.ProviderRef = b.Charge(ctx(), r).ProviderRef
	q := provider.RefundRequest{Reference: "01M7ZCLAIM-1", Charge: r, Local: r.Local, Sent: r.Now}
	b.line.Fail(providertest.BrokenAfter)
	if o := b.Refund(ctx(), q); o.Kind != pay.Unknown {
		t.Fatalf("the reply is lost: %+v", o)
	}
	b.line.Fail(providertest.NoFault)
	b.Forget()
	q.Charge.Now = q.Sent.Add(keyLife + time.Second)
	if o := b.QueryRefund(ctx(), q); o.Kind != pay.Unknown || len(b.Books()[0].Refunds) != 1 {
		t.Errorf("after the key's lifetime: %+v, and the upstream refunded %v", o, b.Books()[0].Refunds)
	}
}

// OXXO takes no money back: that is said before anything is tried.
func TestAVoucherIsNotRefunded(t *testing.T) {
	b := connect(t)
	r := request("cash.oxxo.MEX", "01M7ZOXXO-1")
	r.ProviderRef = b.Charge(ctx(), r).ProviderRef
	before := b.line.Calls()
	q := provider.RefundRequest{Reference: "CLM1-1", Charge: r, Local: r.Local, Sent: r.Now}
	for name, o := range map[string]pay.Outcome{"a refund": b.Refund(ctx(), q), "its query": b.QueryRefund(ctx(), q)} {
		if o.Kind != pay.Declined || o.Decline != "refund_not_supported" || o.Message == "" || b.line.Calls() != before {
			t.Errorf("%s: %+v after %d calls, want declined and none", name, o, b.line.Calls()-before)
		}
	}
}

// A refund needs the payment's PSP reference, which comes with its notification.
func TestRefundBeforeThePaymentIsReported(t *testing.T) {
	b := connect(t)
	r := request("card.BRA", "01M7ZBACK-1")
	r.ProviderRef = b.Charge(ctx(), r).ProviderRef
	if o := b.Refund(ctx(), provider.RefundRequest{Reference: "CLM1-1", Charge: r, Local: r.Local}); o.Kind != pay.Unavailable {
		t.Errorf("%s, want unavailable", o.Kind)
	}
	// After it was accepted, a query sends no request.
	before := b.line.Calls()
	if o := b.QueryRefund(ctx(), provider.RefundRequest{Reference: "CLM1-1", RefundRef: "R1", Charge: r, Local: r.Local}); o.Kind != pay.Awaiting || b.line.Calls() != before {
		t.Errorf("%s after %d calls, want pending and none", o.Kind, b.line.Calls()-before)
	}
}

func TestRefusalsByCode(t *testing.T) {
	for code, want := range map[string]pay.Outcome{
		"12": {Code: problem.InsufficientFunds}, "6": {Code: problem.ExpiredCard}, "20": {Code: problem.FraudBlocked}, "31": {Code: problem.FraudBlocked},
		"2": {Code: problem.CardDeclined, Soft: true}, "9": {Code: problem.CardDeclined, Soft: true}, "11": {Code: problem.ThreeDSFailed}, "24": {Code: problem.CardDeclined}, "999": {},
	} {
		b := connect(t)
		o := b.refusal(code)
		if o.Kind != pay.Declined || o.Code != want.Code || o.Soft != want.Soft || !decline.Reason(o.Decline).Known() || o.Raw != code || o.Message == "" || (code == "999") != (len(b.line.Unmapped()) > 0) {
			t.Errorf("%s: %+v, want %+v; told of %v", code, o, want, b.line.Unmapped())
		}
	}
}

func TestInvalidCredentialsAreRefused(t *testing.T) {
	for field, value := range map[string]string{"apiKey": "a b", "merchantAccount": "A:B", "hmacKey": hmacKey[:62], "livePrefix": "evil.example/"} {
		c := credentials()
		c[field] = value
		_, err := open(provider.Account{Credentials: c, Live: true})
		if field != "livePrefix" {
			_, err = open(provider.Account{Credentials: c})
		}
		var wrong *provider.FieldError
		if !errors.As(err, &wrong) || wrong.Field != field || strings.Contains(err.Error(), value) {
			t.Errorf("%s: %v", field, err)
		}
	}
	c := credentials()
	c["livePrefix"] = "1797a841fbb37ca7-CascadaPay"
	p, err := open(provider.Account{Credentials: c, Live: true})
	if err != nil || p.(*Provider).base != "https://1797a841fbb37ca7-CascadaPay-checkout-live.adyenpayments.com/checkout/v72" {
		t.Errorf("a live account: %+v %v", p, err)
	}
}

// Answers that Adyen would never give are Unknown; they cause no crash and move no money.
func TestHostileAnswers(t *testing.T) {
	b := connect(t)
	for name, text := range map[string]string{
		"a reference with a NUL": `{"pspReference":"P\u0000","resultCode":"Pending"}`,
		"no code":                `{"pspReference":"P1","resultCode":"Pending","action":{"type":"qrCode"}}`,
		"a code with a NUL":      `{"pspReference":"P1","resultCode":"Pending","action":{"type":"qrCode","qrCodeData":"00\u0000"}}`,
		"another action":         `{"pspReference":"P1","resultCode":"Pending","action":{"type":"redirect","qrCodeData":"00"}}`,
		"authorised at once":     `{"pspReference":"P1","resultCode":"Authorised"}`,
		"nothing":                `{}`,
	} {
		var made payment
		if err := json.Unmarshal([]byte(text), &made); err != nil {
			t.Fatal(err)
		}
		if o := b.payment(made, request("pix.BRA", "X-1")); o.Kind != pay.Unknown {
			t.Errorf("%s: %+v, want unknown", name, o)
		}
	}
	for name, l := range map[string]paymentLink{
		"a script": {ID: "PL1", Status: "active", URL: "javascript:alert(1)"}, "no id": {Status: "active", URL: "https://adyen.test/"},
		"a NUL": {ID: "PL\x00", Status: "active", URL: "https://adyen.test/"},
	} {
		if o := b.link(l, request("card.BRA", "X-1")); o.Kind != pay.Unknown || o.FormURL != "" {
			t.Errorf("%s: %+v, want unknown", name, o)
		}
	}
	for _, a := range []amount{{-1, "BRL"}, {0, "BRL"}, {1 << 62, "BRL"}, {1, "brl"}, {1, ""}} {
		if local, ok := a.local(); ok {
			t.Errorf("%v is %v", a, local)
		}
	}
}
