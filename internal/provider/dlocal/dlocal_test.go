package dlocal

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// places lists the countries of the rails: code, currency, and a document there.
var places = map[string]struct {
	currency money.Currency
	document string
}{
	"BRA": {money.BRL, "53033315550"}, "MEX": {money.MXN, "GODE561231GR8"}, "COL": {money.COP, "1020304050"},
	"ARG": {money.ARS, "27332162"}, "CHL": {money.CLP, "123456785"}, "PER": {money.PEN, "27662162"}, "URY": {"UYU", "12345672"},
	"PRY": {"PYG", "1234567"}, "PAN": {money.USD, ""}, "BOL": {"BOB", "1234567"}, "CRI": {"CRC", "101230456"},
	"DOM": {"DOP", ""}, "ECU": {money.USD, "1710034065"}, "GTM": {"GTQ", ""}, "SLV": {money.USD, "040000003"}, "HND": {"HNL", "0801199012345"},
}

func samples() (charges map[string]provider.Request, uncancelable, page map[string]string) {
	charges, uncancelable, page = map[string]provider.Request{}, map[string]string{}, map[string]string{}
	for _, rail := range Adapter().Rails {
		country := rail[len(rail)-3:]
		at := places[country]
		charges[rail] = provider.Request{
			Country: country, Local: money.New(120_000, at.currency),
			Buyer: pay.Buyer{Name: "Thiago Gabriel", Email: "thiago@example.com", Document: at.document, IP: "179.27.83.210"},
		}
		if strings.HasPrefix(rail, "card.") {
			uncancelable[rail] = "reference, Cancel a cash payment: of cash and transfers, not of cards"
			page[rail] = "docs, Checkout redirect: the payment is pending when the call returns"
		}
		if strings.HasPrefix(rail, "wallet.") {
			uncancelable[rail] = "Primer, Mercado Pago via dLocal: no cancel; Gr4vy, Nequi via dLocal: no void"
		}
	}
	return charges, uncancelable, page
}

func TestAdapter(t *testing.T) {
	charges, uncancelable, page := samples()
	providertest.Suite{
		Adapter: Adapter(), Credentials: credentials,
		New:     func(*testing.T) providertest.Fake { return newFake() },
		Charges: charges, Uncancelable: uncancelable, OnPage: page, Settles: settles,
		Page: &providertest.CardPage{
			Codes: [2]string{"302", "301"}, Means: [2]decline.Reason{decline.InsufficientFunds, decline.DoNotHonor},
			Once:    "docs, Checkout redirect: the address can be used once; Yuno: the payment is then PAID or REJECTED",
			Untimed: "reference, the payment object: created_date and approved_date", Unended: "reference, Cancel a cash payment: of cash and transfers, not of cards",
		},
		Amounts: map[string][]money.Amount{
			"pix.BRA":              {money.New(1, money.BRL), money.New(10, money.BRL), money.New(99_999_999_99, money.BRL)},
			"cash.servipag.CHL":    {money.New(1, money.CLP), money.New(999_999_999, money.CLP)},
			"cash.pagoexpress.PRY": {money.New(1, "PYG"), money.New(1_000_000_001, "PYG")},
			"bank.pse.COL":         {money.New(1_600_00, money.COP), money.New(123_456_789_00, money.COP)},
			"card.MEX":             {money.New(100_01, money.MXN)},
			"bank.khipu.CHL":       {money.New(1, money.CLP), money.New(999_999_999, money.CLP)},
			"wallet.nequi.COL":     {money.New(1_000_00, money.COP), money.New(123_456_789_00, money.COP)},
			"card.HND":             {money.New(25_01, "HNL")},
		},
	}.Run(t)
}

// connect returns an account at an upstream.
func connect(t *testing.T, upstream http.Handler) *account {
	t.Helper()
	a, _ := providertest.OpenAccount[*account](t, Adapter(), credentials, upstream)
	return a
}

func request() provider.Request {
	charges, _, _ := samples()
	r := charges["pix.BRA"]
	r.Rail, r.Reference, r.PageURL, r.BackURL = "pix.BRA", "01M7Z-1", providertest.Page, providertest.Page
	return r
}

func TestSignatureOfThePublishedRequest(t *testing.T) {
	// From docs.dlocal.com/docs/initial-settings: a GET, so the body is empty; signed with
	// openssl dgst -sha256 -hmac secretKey123.
	got := sign("secretKey123", "1955gdod", "2022-11-24T15:42:57.130Z", nil)
	if want := "98211fe059efc3606b831a1c30a3c6d7448e598b515a15456ae9ebc157314aa2"; got != want {
		t.Errorf("signed %s, want %s", got, want)
	}
}

func TestEveryRejectionIsToldApart(t *testing.T) {
	soft := []string{"300", "301", "306", "316", "318", "320", "321"} // another provider may see it otherwise
	codes := map[string]problem.Code{"302": problem.InsufficientFunds, "309": problem.ExpiredCard, "313": problem.FraudBlocked, "315": problem.CardDeclined, "320": problem.ThreeDSFailed}
	a, documented := connect(t, newFake()), 0
	for code, reason := range declines {
		o := a.outcome(request(), payment{ID: "D-4-1", OrderID: "01M7Z-1", Status: "REJECTED", Code: provider.Text(code)})
		if o.Kind != pay.Declined || !reason.Known() || o.Decline != string(reason) || o.Soft != slices.Contains(soft, code) || codes[code] != "" && o.Code != codes[code] {
			t.Errorf("%s: %+v, want %s, soft %t", code, o, reason, slices.Contains(soft, code))
		}
		if want := []decline.Try{{ID: "D-4-1", Reason: reason, Raw: code, Soft: o.Soft}}; !slices.Equal(o.Tries, want) {
			t.Errorf("%s: the tries are %+v, want %+v", code, o.Tries, want)
		}
		if len(code) == 3 && code[0] == '3' {
			documented++
		}
	}
	if documented != 27 {
		t.Errorf("%d rejections are known, and 27 are documented", documented)
	}
}

func TestInstallmentsAreReportedAndNotOffered(t *testing.T) {
	a := connect(t, newFake())
	for count, want := range map[provider.Text]int{"": 0, "1": 0, "3": 3, "-3": 0, "99": 0, "x": 0} {
		p := payment{ID: "D-4-1", OrderID: "01M7Z-1", Status: "PAID", Amount: "100", Currency: "BRL"}
		p.Card.Installments = count
		if o := a.outcome(request(), p); o.Installments != (installment.Plan{Count: want}) || o.Local != money.New(100_00, money.BRL) {
			t.Errorf("%q: %+v", count, o)
		}
	}
	if offer := provider.Installments(a, "card.BRA", request().Local, installment.Terms{Max: 12}); offer.Max() != 0 {
		t.Errorf("it offers %+v", offer)
	}
}

func TestTheIssuersChallenge(t *testing.T) {
	p := payment{ID: "D-4-1", OrderID: "01M7Z-1", Status: "PENDING", Code: "101"}
	p.ThreeDS.Redirect = "https://acs.issuer.test/challenge"
	o := connect(t, newFake()).outcome(request(), p)
	if o.Kind != pay.Awaiting || o.Code != problem.ThreeDSRequired || o.FormURL != p.ThreeDS.Redirect {
		t.Errorf("want the challenge: %+v", o)
	}
}

func TestAnUnknownRejectionIsHardAndCounted(t *testing.T) {
	a := connect(t, newFake())
	var told []string
	a.Unmapped = func(word string) { told = append(told, word) }
	o := a.outcome(request(), payment{ID: "D-4-1", OrderID: "01M7Z-1", Status: "REJECTED", Code: "399"})
	if o.Kind != pay.Declined || o.Soft || !slices.Equal(told, []string{"declined: 399"}) {
		t.Errorf("%+v, told of %v", o, told)
	}
	for code, counted := range map[provider.Text]int{"100": 1, "": 2} { // no reason; a missing code is not documented
		told = told[:1]
		o = a.outcome(request(), payment{ID: "D-4-1", OrderID: "01M7Z-1", Status: "REJECTED", Code: code})
		if o.Kind != pay.Declined || o.Soft || o.Decline != "declined" || len(told) != counted {
			t.Errorf("%q: %+v, told of %v", code, o, told)
		}
	}
}

func TestRefusalsOfACharge(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		kind   pay.OutcomeKind
		code   problem.Code
	}{
		{400, `{"code":5001,"message":"Missing parameter. payer.document"}`, pay.Errored, ""},
		{400, `{"code":5005,"message":"User unauthorized due to cadastral situation"}`, pay.Declined, problem.CardDeclined},
		{400, `{"code":5006}`, pay.Declined, problem.InsufficientFunds},
		{400, `{"code":5014}`, pay.Declined, problem.FraudBlocked},
		{400, `{"code":5000,"message":"Invalid request."}`, pay.Errored, ""},
		{400, `{"code":5000,"message":"Signature not match"}`, pay.Unavailable, ""},
		{400, `{"code":5010,"message":"Method not available."}`, pay.Unknown, ""}, // or: Request timeout
		{400, `{"code":5016}`, pay.Errored, ""},
		{400, `{"code":5021}`, pay.Unknown, ""},
		{400, `{"code":5009}`, pay.Unknown, ""}, // and the query is refused as well
		{403, `{"code":3001}`, pay.Unavailable, ""},
		{404, `NOT_FOUND`, pay.Errored, ""},
		{429, `{"code":6000}`, pay.Unavailable, ""},
		{500, `{"code":7000}`, pay.Unknown, ""},
		{504, `{"code":5010,"message":"Request Timeout."}`, pay.Unknown, ""},
		{500, `{"code":5005}`, pay.Unknown, ""}, {502, `{"code":5006}`, pay.Unknown, ""}, {504, `{"code":5014}`, pay.Unknown, ""},
		{302, ``, pay.Unknown, ""},
	} {
		o := connect(t, providertest.Says(c.status, c.body)).Charge(context.Background(), request())
		if o.Kind != c.kind || o.Code != c.code {
			t.Errorf("%d %s: %+v, want %s %s", c.status, c.body, o, c.kind, c.code)
		}
	}
}

func TestOnlyDLocalSaysThatItNeverHadACharge(t *testing.T) {
	for body, want := range map[string]pay.OutcomeKind{
		`{"code":4000,"message":"Payment not found."}`: pay.Missing,
		`NOT_FOUND`:     pay.Unknown,
		`{"code":4001}`: pay.Unknown,
	} {
		if o := connect(t, providertest.Says(404, body)).Query(context.Background(), request()); o.Kind != want {
			t.Errorf("%s: %s, want %s", body, o.Kind, want)
		}
	}
	r := request()
	r.ProviderRef = "D-4-1" // dLocal's id: so the payment existed once
	if o := connect(t, providertest.Says(404, `{"code":4000}`)).Query(context.Background(), r); o.Kind != pay.Unknown {
		t.Errorf("a payment that dLocal no longer knows is %s", o.Kind)
	}
}

func TestAChargeAfterItsKeyWasForgottenIsTheSame(t *testing.T) {
	f := newFake()
	a := connect(t, f)
	first := a.Charge(context.Background(), request())
	f.Forget()
	again := a.Charge(context.Background(), request())
	if again.Kind != pay.Awaiting || again.ProviderRef != first.ProviderRef || again.Data != first.Data || len(f.Books()) != 1 {
		t.Errorf("%+v, want %+v", again, first)
	}
}

func TestHostileAnswersProveNothing(t *testing.T) {
	for _, body := range []string{
		`{"id":"D-4-1","order_id":"01M7Z-1","status":"PAID","amount":-5,"currency":"BRL"}`,
		`{"id":"D-4-1","order_id":"01M7Z-1","status":"PAID","amount":0,"currency":"BRL"}`,
		`{"id":"D-4-1","order_id":"01M7Z-1","status":"PAID","amount":1.234,"currency":"BRL"}`,
		`{"id":"D-4-1","order_id":"01M7Z-1","status":"PAID","amount":1e99,"currency":"BRL"}`,
		`{"id":"D-4-1","order_id":"01M7Z-1","status":"PAID","amount":5,"currency":"XXX"}`,
		`{"id":"D-4-1","order_id":"01M7Z-1","status":"PAID","amount":5}`,
		`{"id":"D-4-1","order_id":"somebody else's","status":"PAID","amount":5,"currency":"BRL"}`,
		`{"id":"../orders","order_id":"01M7Z-1","status":"PAID","amount":5,"currency":"BRL"}`,
		`{"id":"","order_id":"01M7Z-1","status":"PAID","amount":5,"currency":"BRL"}`,
		`{"id":7,"order_id":"01M7Z-1","status":"PAID","amount":5,"currency":"BRL"}`,
		`{"id":"D-4-1","order_id":"01M7Z-1","status":{"PAID":1},"amount":5,"currency":"BRL"}`,
		`[]`, `null`, `"PAID"`,
	} {
		if o := connect(t, providertest.Says(200, body)).Charge(context.Background(), request()); o.Kind != pay.Unknown {
			t.Errorf("%s: %+v", body, o)
		}
	}
}

func TestOnlyCleanTextReachesTheShopper(t *testing.T) {
	p := payment{ID: "D-4-1", OrderID: "01M7Z-1", Status: "PENDING", Code: "100", Redirect: "javascript:alert(1)"}
	p.Ticket.Number, p.Ticket.Image = "0002\x0001\n", "http://plain.test/"
	o := connect(t, newFake()).outcome(request(), p)
	if o.Data.QRCode != "" || o.FormURL != providertest.Page {
		t.Errorf("%+v", o)
	}
	p.Ticket.Number = strings.Repeat("9", 5000)
	if o = connect(t, newFake()).outcome(request(), p); o.Data.QRCode != "" || o.FormURL != providertest.Page {
		t.Errorf("%+v", o)
	}
}

func TestWithoutADocumentTheShopperGoesToDLocal(t *testing.T) {
	a := connect(t, newFake())
	r := request()
	r.Buyer.Document = ""
	if o := a.Charge(context.Background(), r); o.Kind != pay.Awaiting || !strings.HasPrefix(o.FormURL, "https://pay.dlocal.com/") {
		t.Errorf("%+v", o)
	}
	r.Reference, r.Buyer.Email = "01M7Z-2", ""
	if o := a.Charge(context.Background(), r); o.Kind != pay.Errored || o.Decline != "buyer_incomplete" {
		t.Errorf("%+v", o)
	}
}

func TestAmountsThatDLocalDoesNotTakeAreNotSent(t *testing.T) {
	f := newFake()
	a := connect(t, f)
	r := request()
	r.Rail = "bank.pse.COL"
	for _, local := range []money.Amount{money.New(1_600_01, money.COP), money.New(0, money.COP), money.New(-100, money.COP)} {
		r.Local = local
		if o := a.Charge(context.Background(), r); o.Kind != pay.Errored || len(f.Books()) != 0 {
			t.Errorf("%v: %+v", local, o)
		}
	}
}

func TestRefundWords(t *testing.T) {
	a := connect(t, newFake())
	read := func(text string) (f refund) {
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for status, want := range map[string]pay.OutcomeKind{
		"SUCCESS": pay.Approved, "PENDING": pay.Awaiting, "REJECTED": pay.Declined, "CANCELLED": pay.Declined, "LOST": pay.Unknown,
	} {
		f := read(`{"id":"REF1","payment_id":"PAY1","amount":1.00,"currency":"BRL","status":"` + status + `","status_code":200}`)
		if o := a.refunded(f, "PAY1"); o.Kind != want {
			t.Errorf("%s: %+v, want %s", status, o, want)
		}
	}
	if o := a.refunded(read(`{"id":"REF1","payment_id":"PAY2","amount":1.00,"currency":"BRL","status":"SUCCESS"}`), "PAY1"); o.Kind != pay.Unknown {
		t.Errorf("a refund of another payment: %+v", o)
	}
}

// dLocal does not promise to send all fields of a refund: missing ones are
// queried.
func TestANotificationOfARefundWithoutItsName(t *testing.T) {
	f := newFake()
	a, line := providertest.OpenAccount[*account](t, Adapter(), credentials, f)
	r := request()
	r.ProviderRef = a.Charge(context.Background(), r).ProviderRef
	f.Move(r.Reference, providertest.Paid)
	ref := a.Refund(context.Background(), provider.RefundRequest{Reference: "01M7ZCLAIM1-1", Local: money.New(100, money.BRL), Charge: r}).ProviderRef
	n := notification(map[string]any{"id": ref, "payment_id": r.ProviderRef, "status": "SUCCESS", "status_code": "200"}, noon)
	list, err := a.Notices(context.Background(), n)
	if err != nil || len(list) != 1 || list[0].Refund != "01M7ZCLAIM1-1" || list[0].Reference != r.Reference || list[0].Outcome.Kind != pay.Approved || list[0].Dispute {
		t.Errorf("%+v, %v", list, err)
	}
	line.Fail(providertest.ServerError)
	if _, err := a.Notices(context.Background(), n); !errors.Is(err, provider.ErrUnreachable) {
		t.Errorf("while dLocal does not answer: %v, want ErrUnreachable", err)
	}
}

// A text of the panel may look like our name of a refund. The charge is named beside it, so that the core, which has no such refund,
// books it as one of the panel.
func TestARefundOfThePanelWithATextLikeOurs(t *testing.T) {
	ctx, f := context.Background(), newFake()
	a := connect(t, f)
	r := request()
	a.Charge(ctx, r)
	f.Move(r.Reference, providertest.Paid)
	f.Give(f.Charges[0], "pedido-17", money.New(1000, r.Local.Currency))
	list, err := a.Notices(ctx, f.RefundNotification(r.Reference, 0))
	if err != nil || len(list) != 1 || list[0].Refund != "pedido-17" || list[0].Reference != r.Reference || list[0].Outcome.Kind != pay.Approved {
		t.Errorf("%+v %v", list, err)
	}
}

func TestARefundIsMissingOnlyWhenAllOthersAreNamed(t *testing.T) {
	q := provider.RefundRequest{Reference: "01M7ZCLAIM1-1", Local: money.New(100, money.BRL), Charge: request()}
	q.Charge.ProviderRef = "PAY1"
	for list, want := range map[string]pay.OutcomeKind{
		`,"refunds":[]`: pay.Missing,
		`,"refunds":[{"id":"REF1","order_refund_id":"01M7ZCLAIM2-1","amount":1,"currency":"BRL","status":"SUCCESS"}]`: pay.Missing,
		`,"refunds":[{"id":"REF1","amount":1,"currency":"BRL","status":"SUCCESS"}]`:                                   pay.Unknown,
		`,"refunds":[{"id":"REF1","description":"01M7ZCLAIM1-1","amount":1,"currency":"BRL","status":"SUCCESS"}]`:     pay.Approved,
		``: pay.Unknown,
	} {
		body := `{"id":"PAY1","status":"PAID","amount":5,"currency":"BRL","order_id":"01M7Z-1"` + list + `}`
		if o := connect(t, providertest.Says(200, body)).QueryRefund(context.Background(), q); o.Kind != want {
			t.Errorf("%s: %s, want %s", list, o.Kind, want)
		}
	}
}

func TestNotificationsHaveAnAge(t *testing.T) {
	a := connect(t, newFake())
	told := json.RawMessage(`{"id":"D-4-1","order_id":"01M7Z-1","status":"PAID","status_code":"200","amount":72.00,"currency":"USD"}`)
	for date, fresh := range map[string]bool{
		"2026-11-21T12:00:00.000Z": true, "2026-11-21T12:00:00.000+0000": true, "2026-11-17T12:00:00.000Z": true,
		"2026-11-15T12:00:00.000Z": false, "2026-11-22T12:00:00.000Z": false, "yesterday": false,
	} {
		list, err := a.Notices(context.Background(), notification(told, date))
		if fresh != (len(list) == 1) || !fresh && !errors.Is(err, provider.ErrUnsigned) {
			t.Errorf("%s: %d, %v", date, len(list), err)
		}
	}
}

func TestChargebacks(t *testing.T) {
	a := connect(t, newFake())
	for _, c := range []struct {
		body    string
		dispute bool
		ruling  pay.Ruling
		puzzle  bool // for the operator
	}{
		{body: `"id":"CHAR1","status":"PENDING","reason_code":"4853"`, dispute: true},
		{body: `"id":"CHAR1","status":"COMPLETED","reason_code":4853`, dispute: true},
		{body: `"id":"CHAR1","status":"SUCCESS"`, dispute: true}, // of the oldest documents
		{body: `"id":"CHAR1","status":"DISPUTE_RECEIVED"`, dispute: true},
		{body: `"id":"CHAR1","status":"IN_DISPUTE"`, dispute: true},
		{body: `"id":"CHAR1","status":"CANCELLED"`, ruling: pay.DisputeWithdrawn},
		{body: `"id":"CHAR1","status":"REVERSAL"`, ruling: pay.DisputeWon},
		{body: `"id":"CHAR1","status":"DISPUTE_LOST"`, ruling: pay.DisputeLost},
		{body: `"id":"CHAR1","status":"INQUIRY"`, puzzle: true},
		{body: `"id":"CHAR1","status":"ARBITRATION"`, puzzle: true},
	} {
		body := `{` + c.body + `,"payment_id":"D-4-1","order_id":"01M7Z-1"}`
		list, err := a.Notices(context.Background(), notification(json.RawMessage(body), noon))
		if err != nil || len(list) != 1 {
			t.Errorf("%s: %d, %v", body, len(list), err)
			continue
		}
		n := list[0]
		if n.Dispute != c.dispute || n.Ruling != c.ruling || n.Unread != c.puzzle || n.Reference != "01M7Z-1" || !c.puzzle && n.Outcome.MoneyRef != "D-4-1" ||
			n.DisputeID != "CHAR1" || n.Stage == "" || !strings.Contains(body, n.Stage) || n.Reviewing != (n.Stage == "IN_DISPUTE" || n.Stage == "DISPUTE_RECEIVED") {
			t.Errorf("%s: %+v", body, n)
		}
	}
}

// Some statuses are of refunds and of chargebacks. An id without a known form does not tell them apart: dLocal does.
func TestWhetherItIsARefundOrAChargebackIsAsked(t *testing.T) {
	refund := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/refunds/") {
				providertest.Says(status, body)(w, r)
				return
			}
			providertest.Says(http.StatusOK, `{"id":"D-4-1","order_id":"01M7Z-1","status":"PAID","amount":72.00,"currency":"BRL","refunds":[]}`)(w, r)
		}
	}
	for _, status := range []string{"PENDING", "SUCCESS", "CANCELLED", "REJECTED"} {
		n := notification(map[string]any{"id": "9f3a", "payment_id": "D-4-1", "status": status, "amount": 30.5, "currency": "BRL"}, noon)
		there := `{"id":"9f3a","payment_id":"D-4-1","amount":30.5,"currency":"BRL","status":"` + status + `"}`
		list, err := connect(t, refund(http.StatusOK, there)).Notices(context.Background(), n)
		if err != nil || len(list) != 1 || list[0].OfDispute() || list[0].Reference != "01M7Z-1" || list[0].Outcome.Back == nil || list[0].Outcome.MoneyRef != "D-4-1" {
			t.Errorf("a refund that is %s: %+v, %v", status, list, err)
		}
		list, err = connect(t, refund(http.StatusNotFound, `{"code":4001}`)).Notices(context.Background(), n)
		if err != nil || len(list) != 1 || list[0].DisputeID != "9f3a" || list[0].Reference != "01M7Z-1" || list[0].OfDispute() != (status != "REJECTED") {
			t.Errorf("a chargeback that is %s: %+v, %v", status, list, err)
		}
		if _, err = connect(t, refund(http.StatusBadGateway, ``)).Notices(context.Background(), n); !errors.Is(err, provider.ErrUnreachable) {
			t.Errorf("nobody tells: %v, want ErrUnreachable", err)
		}
	}
	n := notification(map[string]any{"id": "REF1", "payment_id": "D-4-1", "status": "SUCCESS", "amount": 30.5, "currency": "BRL"}, noon)
	list, err := connect(t, refund(http.StatusNotFound, `{"code":4001}`)).Notices(context.Background(), n)
	if err != nil || len(list) != 1 || !list[0].Unread || list[0].Reference != "01M7Z-1" {
		t.Errorf("a refund that dLocal does not know: %+v, %v", list, err)
	}
}

// The example of the query names only the chargeback and its status.
func TestAChargebackIsKnownByItsID(t *testing.T) {
	q := provider.DisputeRequest{ID: "CHAR42342", Charge: request()}
	q.Charge.ProviderRef = "D-4-1"
	for body, known := range map[string]bool{
		`{"id":"CHAR42342","status":"COMPLETED","status_code":"200"}`:  true,
		`{"id":"CHAR42342","status":"COMPLETED","payment_id":"D-4-1"}`: true,
		`{"id":"CHAR42342","status":"COMPLETED","order_id":"01M7Z-1"}`: true,
		`{"id":"CHAR42342","status":"COMPLETED","payment_id":"D-4-2"}`: false,
		`{"id":"CHAR42342","status":"COMPLETED","order_id":"01M7Z-2"}`: false,
		`{"id":"CHAR42343","status":"COMPLETED"}`:                      false,
		`{"id":"CHAR42342","status":"INQUIRY"}`:                        false,
		`{"id":"CHAR42342","status":"ARBITRATION"}`:                    false,
	} {
		n, ok := connect(t, providertest.Says(http.StatusOK, body)).QueryDispute(context.Background(), q)
		if ok != known || ok && (!n.Dispute || n.Reference != q.Charge.Reference || n.Outcome.MoneyRef != "D-4-1") {
			t.Errorf("%s: %+v, %t, want %t", body, n, ok, known)
		}
	}
}

func TestChargebackIsRetriedIfItsPaymentCannotBeQueried(t *testing.T) {
	a := connect(t, providertest.Says(503, ""))
	n := notification(json.RawMessage(`{"id":"CHAR1","payment_id":"D-4-1","status":"COMPLETED"}`), noon)
	if _, err := a.Notices(context.Background(), n); !errors.Is(err, provider.ErrUnreachable) {
		t.Errorf("%v, want ErrUnreachable", err)
	}
}

func TestAnUnknownStateIsForTheOperator(t *testing.T) {
	a := connect(t, providertest.Says(http.StatusOK, `{"id":"D-4-1","order_id":"01M7Z-1","status":"PAID","amount":72.00,"currency":"BRL","refunds":[]}`))
	for _, body := range []string{
		`{"id":"D-4-1","order_id":"01M7Z-1","status":"SEIZED","status_code":"999","amount":72.00,"currency":"BRL"}`,
		`{"id":"REF4","payment_id":"D-4-1","order_refund_id":"01M7Z-2","status":"SEIZED","amount":72.00,"currency":"BRL"}`,
	} {
		if list, err := a.Notices(context.Background(), notification(json.RawMessage(body), noon)); err != nil || len(list) != 1 || !list[0].Unread || list[0].Outcome.Kind != pay.Unknown {
			t.Errorf("%s: %+v, %v", body, list, err)
		}
	}
}

func TestANotificationOfNothingNewTellsNothing(t *testing.T) {
	f := newFake()
	a := connect(t, f)
	a.Charge(context.Background(), request())
	if list, err := a.Notices(context.Background(), f.Notification("01M7Z-1")); err != nil || len(list) != 0 {
		t.Errorf("%d notices, %v", len(list), err)
	}
}

func TestInvalidCredentialsAreRefused(t *testing.T) {
	for field := range credentials {
		broken := map[string]string{"login": "a", "transKey": "b", "secretKey": "c"}
		broken[field] = "line\r\nX-Login: other"
		_, err := open(provider.Account{Credentials: broken})
		var wrong *provider.FieldError
		if !errors.As(err, &wrong) || wrong.Field != field || strings.Contains(err.Error(), "other") {
			t.Errorf("%s: %v", field, err)
		}
	}
	good := connect(t, newFake())
	good.secret = "0ther-s3cret"
	if err := good.Check(context.Background()); err == nil || strings.Contains(err.Error(), "0ther") {
		t.Errorf("a wrong secret: %v", err)
	}
}
