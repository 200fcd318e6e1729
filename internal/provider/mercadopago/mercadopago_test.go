package mercadopago

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func samples() map[string]provider.Request {
	list := map[string]provider.Request{}
	for _, r := range rails {
		country := r.key[strings.LastIndex(r.key, ".")+1:]
		list[r.key] = provider.Request{
			Local: money.New(300_00, r.currency), Country: country,
			Buyer: pay.Buyer{Email: "ana@example.com", Name: "Ana María de Souza", Document: "529.982.247-25"},
		}
	}
	return list
}

func hosted() map[string]string {
	list := map[string]string{}
	for _, r := range rails {
		if r.hosted() {
			list[r.key] = "Checkout Pro: the buyer is redirected to init_point"
		}
	}
	return list
}

func TestAdapter(t *testing.T) {
	providertest.Suite{
		Adapter:     Adapter(),
		Credentials: credentials(),
		New:         func(*testing.T) providertest.Fake { return newFake() },
		Charges:     samples(),
		Hosted:      hosted(),
		Quiet:       hosted(),
		Page: &providertest.CardPage{
			Codes: [2]string{"cc_rejected_insufficient_amount", "cc_rejected_other_reason"}, Means: [2]decline.Reason{decline.InsufficientFunds, decline.DoNotHonor},
		},
		BodyUnsigned: "Webhooks, validate notification origin: the template has data.id, x-request-id and ts alone",
		Amounts: map[string][]money.Amount{
			"pix.BRA":         {money.New(1, money.BRL), money.New(10, money.BRL), money.New(500_000_00, money.BRL), money.New(math.MaxInt64-1, money.BRL)},
			"card.CHL":        {money.New(1, money.CLP), money.New(10_000_000, money.CLP)},
			"card.COL":        {money.New(1000_00, money.COP), money.New(50_000_000_00, money.COP)},
			"cash.efecty.COL": {money.New(20_000_00, money.COP)},
		},
	}.Run(t)
}

func credentials() map[string]string {
	return map[string]string{accessToken: testToken, secret: testSecret}
}

func connect(t *testing.T) (*account, *fake, *providertest.Line) {
	t.Helper()
	f := newFake()
	a, line := providertest.OpenAccount[*account](t, Adapter(), credentials(), f)
	return a, f, line
}

func request(rail string) provider.Request {
	return providertest.Under(samples()[rail], rail, "01M7ZTEST-1")
}

// The vector was made with openssl, from the template in the documentation:
// printf 'id:…;request-id:…;ts:…;' | openssl dgst -sha256 -hmac your_secret_key_here
func TestSignatureIsOverTheIDTheRequestAndTheTime(t *testing.T) {
	const v1 = "633f91233312dd391ec75fa0bea539cfc2d6c4918873305b84a96cc1c58db71c"
	now := time.UnixMilli(1742505638683)
	a := &account{Account: provider.Account{Now: func() time.Time { return now }}, secret: []byte("your_secret_key_here")}
	header := func(signature, request string) http.Header {
		return http.Header{"X-Signature": {signature}, "X-Request-Id": {request}}
	}
	const request, id = "2066ca19-c6f1-498a-be75-1923005edd06", "ORD01JQ4S4KY8HWQ6NA5PXB65B3D3"
	good := header("ts=1742505638683,v1="+v1, request)
	if !a.signed(good, id) || !a.signed(good, strings.ToLower(id)) || !a.signed(header(" v1="+v1+" , ts=1742505638683", request), id) {
		t.Error("the documented notification is refused")
	}
	// printf 'id:ORD01JQ…' instead of 'id:ord01jq…': the SDKs sign an id in its own case since June 2026.
	own := providertest.MAC(sha256.New, "your_secret_key_here", "id:"+id+";request-id:"+request+";ts:1742505638683;")
	if h := header(fmt.Sprintf("ts=1742505638683,v1=%x", own), request); !a.signed(h, id) || a.signed(h, "ORD2") {
		t.Error("a signature of an id in its own case is refused, or is another's too")
	}
	for what, h := range map[string]http.Header{
		"another request": header("ts=1742505638683,v1="+v1, "2066ca19"), "another time": header("ts=1742505638684,v1="+v1, request),
		"no time": header("v1="+v1, request), "no hash": header("ts=1742505638683", request), "nothing": {},
		"another version": header("ts=1742505638683,v2="+v1, request), "a shorter hash": header("ts=1742505638683,v1="+v1[:62], request),
	} {
		if a.signed(h, id) {
			t.Errorf("%s: accepted", what)
		}
	}
	if a.signed(good, "ORD2") || a.signed(good, "") {
		t.Error("a signature of another id is accepted")
	}
	signedAt := now
	for age, want := range map[time.Duration]bool{
		maxAge: true, maxAge + time.Millisecond: false, -maxLead: true, -maxLead - time.Millisecond: false,
	} {
		now = signedAt.Add(age)
		if a.signed(good, id) != want {
			t.Errorf("%v old: accepted is %t, want %t", age, !want, want)
		}
	}
}

func TestTimeMayBeInSeconds(t *testing.T) {
	a, f, _ := connect(t)
	f.Next(providertest.Paid)
	r := request("pix.BRA")
	o := a.Charge(context.Background(), r)
	for ts, want := range map[int64]bool{
		providertest.Noon.Unix(): true, providertest.Noon.UnixMilli(): true, providertest.Noon.Add(-maxAge).Unix() - 1: false, 0: false,
	} {
		list, err := a.Notices(context.Background(), notification("payment", o.ProviderRef, 1, ts))
		if (len(list) == 1) != want || want == errors.Is(err, provider.ErrUnsigned) {
			t.Errorf("at %d: %d notices, %v", ts, len(list), err)
		}
	}
}

func TestNoticesOfOtherThingsTellNothing(t *testing.T) {
	a, f, line := connect(t)
	ctx := context.Background()
	o := a.Charge(ctx, request("pix.BRA"))
	for what, n := range map[string]provider.Notification{
		"a payment that does not exist": notification("payment", "123456", 1, providertest.Noon.UnixMilli()),
		"another topic":                 notification("topic_claims_integration_wh", "123456", 1, providertest.Noon.UnixMilli()),
		"a payment that waits":          notification("payment", o.ProviderRef, 1, providertest.Noon.UnixMilli()),
		"a chargeback of nothing":       notification("topic_chargebacks_wh", "7799", 1, providertest.Noon.UnixMilli()),
	} {
		if list, err := a.Notices(ctx, n); len(list) != 0 || err != nil {
			t.Errorf("%s: %v, %v", what, list, err)
		}
	}
	f.Move("01M7ZTEST-1", providertest.Paid)
	n := f.Notification("01M7ZTEST-1")
	n.Body = []byte(strings.Replace(string(n.Body), o.ProviderRef, "5999999999", 1))
	if list, err := a.Notices(ctx, n); len(list) != 0 || err == nil {
		t.Errorf("the body names another payment: %v, %v", list, err)
	}
	n = f.Notification("01M7ZTEST-1")
	line.Fail(providertest.ServerError)
	if _, err := a.Notices(ctx, n); !errors.Is(err, provider.ErrUnreachable) {
		t.Errorf("the payment cannot be queried: %v", err)
	}
}

func TestPaymentsMadeElsewhereAreNotOurs(t *testing.T) {
	a, f, _ := connect(t)
	f.Next(providertest.Paid)
	o := a.Charge(context.Background(), request("pix.BRA"))
	for _, reference := range []string{"", "order 7", "01M7ZTEST-1\x00"} {
		f.find(o.ProviderRef).reference = reference
		list, err := a.Notices(context.Background(), notification("payment", o.ProviderRef, 1, providertest.Noon.UnixMilli()))
		if len(list) != 0 || err != nil {
			t.Errorf("%q: %v, %v", reference, list, err)
		}
	}
}

// LATE-9: the shopper pays the same page twice. Each payment is a money of its own, in notifications and in a query.
func TestBothPaymentsOfOnePageAreReported(t *testing.T) {
	a, f, _ := connect(t)
	ctx := context.Background()
	r := request("card.BRA")
	r.ProviderRef = a.Charge(ctx, r).ProviderRef
	var moneys []string
	for _, card := range []string{"visa", "master"} {
		f.try(f.Charges[0], card).set("approved", "accredited")
		list, err := a.Notices(ctx, f.Notification(r.Reference))
		if err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.Approved || list[0].Outcome.Local != r.Local {
			t.Fatal(list, err)
		}
		moneys = append(moneys, list[0].Outcome.MoneyRef)
	}
	o := a.Query(ctx, r)
	if moneys[0] == moneys[1] || o.MoneyRef != moneys[0] || len(o.Also) != 1 || o.Also[0].Ref != moneys[1] || o.Also[0].Local != r.Local {
		t.Errorf("the notifications report the money %v, the query %s and %+v", moneys, o.MoneyRef, o.Also)
	}
	if at := o.Also[0].ProviderRef; at != moneys[1] {
		t.Errorf("its refund goes to %s", at)
	}
}

func TestCancelEndsWhatWasBegunOnThePage(t *testing.T) {
	a, f, _ := connect(t)
	ctx := context.Background()
	r := request("boleto.BRA")
	a.Charge(ctx, r)
	ticket := f.try(f.Charges[0], "bolbradesco")
	got := a.Query(ctx, r)
	if got.Kind != pay.Awaiting || got.Data.Barcode == "" || !strings.Contains(got.FormURL, "/ticket") {
		t.Errorf("a boleto was created: %+v", got)
	}
	if got := a.Cancel(ctx, r); got.Kind != pay.Lapsed || ticket.status != "cancelled" {
		t.Errorf("a cancel: %+v, the boleto is %s", got, ticket.status)
	}
	if got := a.Charge(ctx, r); got.Kind != pay.Lapsed {
		t.Errorf("the same charge after that: %+v", got)
	}
}

// A payment whose id is known is ended, whatever a search shows.
func TestCancelEndsAPaymentThatNoSearchShows(t *testing.T) {
	a, f, _ := connect(t)
	r := request("pix.BRA")
	r.ProviderRef = a.Charge(context.Background(), r).ProviderRef
	f.stale = true
	if o := a.Cancel(context.Background(), r); o.Kind != pay.Lapsed || f.find(r.ProviderRef).status != "cancelled" {
		t.Errorf("%+v, it is %s", o, f.find(r.ProviderRef).status)
	}
}

// Two calls at one moment may make two pages: neither can be paid after a cancel, and what was paid on either is found.
func TestBothPagesOfOneChargeAreClosed(t *testing.T) {
	a, f, _ := connect(t)
	ctx := context.Background()
	r := request("card.BRA")
	for _, reference := range []string{r.Reference, "01M7ZTEST-2"} {
		other := r
		other.Reference = reference
		a.Charge(ctx, other)
	}
	f.Charges[1].Reference, f.Charges[1].page["external_reference"] = r.Reference, r.Reference
	if o := a.Cancel(ctx, r); o.Kind != pay.Lapsed {
		t.Errorf("%+v", o)
	}
	for _, c := range f.Charges {
		if until, err := time.Parse(time.RFC3339, c.page["expiration_date_to"].(string)); err != nil || until.After(providertest.Noon) {
			t.Errorf("page %s is open until %s", c.page["id"], until)
		}
	}
	f.try(f.Charges[1], "visa").set("approved", "accredited")
	if o := a.Query(ctx, r); o.Kind != pay.Approved || o.Local != r.Local {
		t.Errorf("paid on the second page: %+v", o)
	}
}

// lostAnswers does what is requested, and loses the replies on one path.
type lostAnswers struct {
	http.RoundTripper
	path string
}

func (l *lostAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.RoundTripper.RoundTrip(r)
	if err == nil && r.Method == http.MethodPost && r.URL.Path == l.path {
		res.Body.Close()
		return nil, errors.New("connection reset")
	}
	return res, err
}

func TestAPageWhoseAnswerIsLostIsFoundAgain(t *testing.T) {
	a, f, line := connect(t)
	lost := &lostAnswers{line.Client().Transport, "/checkout/preferences"}
	a.Client = &http.Client{Transport: lost}
	r := request("bank.pse.COL")
	if o := a.Charge(context.Background(), r); o.Kind != pay.Unknown {
		t.Errorf("the reply is lost: %+v", o)
	}
	for what, o := range map[string]pay.Outcome{"again": a.Charge(context.Background(), r), "a question": a.Query(context.Background(), r)} {
		if o.Kind != pay.Awaiting || o.FormURL == "" || o.ProviderRef == "" {
			t.Errorf("%s: %+v", what, o)
		}
	}
	if n := len(f.Books()); n != 1 {
		t.Errorf("there are %d pages, want one", n)
	}
}

func TestRefusedTokenIsNotUnknown(t *testing.T) {
	a, f, _ := connect(t)
	a.token = "APP_USR-revoked"
	for _, rail := range []string{"pix.BRA", "card.BRA"} {
		if o := a.Charge(context.Background(), request(rail)); o.Kind != pay.Unavailable {
			t.Errorf("%s: a charge: %+v", rail, o)
		}
		if o := a.Query(context.Background(), request(rail)); o.Kind != pay.Unknown {
			t.Errorf("%s: a question: %+v", rail, o)
		}
	}
	if err := a.Check(context.Background()); err == nil || len(f.Books()) != 0 {
		t.Errorf("the check says %v", err)
	}
}

// "Already posted the same request in the last minute" is about another call, and "POST to Gateway Transactions API fail" is no refusal.
func TestAnErrorThatSaysNotWhatWasDoneIsUnknown(t *testing.T) {
	for _, cause := range []int{2001, 2004} {
		a, f, _ := connect(t)
		ctx := context.Background()
		r := request("pix.BRA")
		r.ProviderRef = a.Charge(ctx, r).ProviderRef
		f.Move(r.Reference, providertest.Paid)
		f.fails = cause
		if o := a.Refund(ctx, provider.RefundRequest{Reference: "01M7ZCLM-1", Charge: r, Local: money.New(100, money.BRL)}); o.Kind != pay.Unknown {
			t.Errorf("%d, a refund: %+v", cause, o)
		}
		if r.Reference = "01M7ZTEST-2"; a.Charge(ctx, r).Kind != pay.Unknown {
			t.Errorf("%d: a charge is not unknown", cause)
		}
	}
}

func TestANoticeIsReadWhileTheSearchLags(t *testing.T) {
	a, f, _ := connect(t)
	r := request("pix.BRA")
	a.Charge(context.Background(), r)
	f.Move(r.Reference, providertest.Expired)
	f.stale = true
	list, err := a.Notices(context.Background(), f.Notification(r.Reference))
	if err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.Lapsed {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestWhatCannotBeChargedIsNotSent(t *testing.T) {
	a, _, line := connect(t)
	for want, change := range map[string]func(*provider.Request){
		"buyer_email_missing": func(r *provider.Request) { r.Buyer.Email = "" },
		"currency_not_served": func(r *provider.Request) { r.Local = money.New(100, money.USD) },
		"amount_not_positive": func(r *provider.Request) { r.Local.Minor = 0 },
		"rail_not_served":     func(r *provider.Request) { r.Rail = "cash.loterica.BRA" },
	} {
		r := request("pix.BRA")
		change(&r)
		if o := a.Charge(context.Background(), r); o.Kind != pay.Errored || o.Decline != want {
			t.Errorf("%s: %+v", want, o)
		}
	}
	if line.Calls() != 0 {
		t.Errorf("%d calls were made", line.Calls())
	}
}

// The shopper reads on the page, and the seller in the panel, what is bought.
func TestAPurchaseHasItsName(t *testing.T) {
	for want, change := range map[string]func(*provider.Request){
		"Two tickets": func(r *provider.Request) { r.Purchase.Description, r.OrderID = "Two tickets", "order 7" },
		"order 7":     func(r *provider.Request) { r.OrderID = "order 7" },
		"01M7ZTEST-1": func(*provider.Request) {},
	} {
		a, f, _ := connect(t)
		for _, rail := range []string{"card.BRA", "pix.BRA"} {
			r := request(rail)
			change(&r)
			a.Charge(context.Background(), r)
		}
		if page := f.Charges[0].page["items"].([]any)[0].(map[string]any); page["title"] != want || f.Charges[1].described != want {
			t.Errorf("%q: the page sells %q, the payment is %q", want, page["title"], f.Charges[1].described)
		}
	}
}

// Prices in pesos of Colombia are whole at Mercado Pago: shoppers are not offered another amount, and it is not sent.
func TestPesosOfColombiaAreWhole(t *testing.T) {
	a, f, line := connect(t)
	ctx := context.Background()
	for _, rail := range []string{"card.COL", "cash.efecty.COL", "bank.pse.COL"} {
		r := request(rail)
		r.Local = money.New(12_345_67, money.COP)
		if o := a.Charge(ctx, r); a.Accepts(rail, r.Local) || o.Kind != pay.Errored || o.Decline != "amount_not_whole" {
			t.Errorf("%s: taken %t, %+v", rail, a.Accepts(rail, r.Local), o)
		}
		if r.Local.Minor = 12_345_00; !a.Accepts(rail, r.Local) {
			t.Errorf("%s: %s is not taken", rail, r.Local)
		}
	}
	if line.Calls() != 0 {
		t.Errorf("%d calls were made", line.Calls())
	}
	r := request("cash.efecty.COL")
	r.ProviderRef = a.Charge(ctx, r).ProviderRef
	f.Move(r.Reference, providertest.Paid)
	back := provider.RefundRequest{Reference: "01M7ZCLM-1", Charge: r, Local: money.New(100_50, money.COP)}
	if o := a.Refund(ctx, back); o.Kind != pay.Declined || o.Message == "" {
		t.Errorf("a refund of %s: %+v", back.Local, o)
	}
	if back.Local.Minor = 100_00; a.Refund(ctx, back).Kind != pay.Approved {
		t.Errorf("a refund of %s is not made", back.Local)
	}
}
func TestHostileAnswersProveNothing(t *testing.T) {
	a, _, _ := connect(t)
	for what, p := range map[string]payment{
		"no id":           {Status: "approved", CurrencyID: "BRL", TransactionAmount: "1"},
		"a path as id":    {ID: "../1", Status: "approved", CurrencyID: "BRL", TransactionAmount: "1"},
		"a negative sum":  {ID: "1", Status: "approved", CurrencyID: "BRL", TransactionAmount: "-1"},
		"no sum":          {ID: "1", Status: "approved", CurrencyID: "BRL"},
		"half a centavo":  {ID: "1", Status: "approved", CurrencyID: "BRL", TransactionAmount: "1.005"},
		"too large a sum": {ID: "1", Status: "approved", CurrencyID: "BRL", TransactionAmount: "1e300"},
		"no currency":     {ID: "1", Status: "approved", CurrencyID: "brl", TransactionAmount: "1"},
	} {
		if o := a.outcome(p, ""); o.Kind != pay.Unknown || o.Local != (money.Amount{}) {
			t.Errorf("%s: %+v", what, o)
		}
	}
}

func TestRefundWithoutOurReferenceIsUnknown(t *testing.T) {
	a, f, _ := connect(t)
	ctx := context.Background()
	r := request("pix.BRA")
	o := a.Charge(ctx, r)
	r.ProviderRef = o.ProviderRef
	f.Move(r.Reference, providertest.Paid)
	f.bare = true
	q := provider.RefundRequest{Reference: "CLM1", Charge: r, Local: money.New(100, money.BRL)}
	back := a.Refund(ctx, q)
	if o := a.QueryRefund(ctx, q); o.Kind != pay.Unknown {
		t.Errorf("a refund of the same amount: %+v", o)
	}
	q.Local.Minor = 200
	if o := a.QueryRefund(ctx, q); o.Kind != pay.Missing {
		t.Errorf("no refund of the amount: %+v", o)
	}
	q.Local.Minor, q.RefundRef = 100, back.ProviderRef
	if o := a.QueryRefund(ctx, q); o.Kind != pay.Approved {
		t.Errorf("under their id: %+v", o)
	}
	q.RefundRef = "999"
	if o := a.QueryRefund(ctx, q); o.Kind != pay.Missing {
		t.Errorf("with an id that does not exist: %+v", o)
	}
}

func TestTestTokensAreNotForProduction(t *testing.T) {
	for token, live := range map[string]bool{"TEST-1": true, "APP USR": false, "APP_USR-1\n": false, strings.Repeat("x", 301): false} {
		_, err := Adapter().Open(provider.Account{Live: live, Credentials: map[string]string{accessToken: token, secret: "x"}})
		var wrong *provider.FieldError
		if !errors.As(err, &wrong) || wrong.Field != accessToken || strings.Contains(err.Error(), token) {
			t.Errorf("%q: %v", token, err)
		}
	}
}
