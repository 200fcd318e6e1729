package conekta

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
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
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func credentials() map[string]string {
	return map[string]string{apiKey: testKey, webhookKey: providertest.PublicKey()}
}

func sample() provider.Request {
	return provider.Request{
		Local: money.New(300_00, money.MXN), Country: "MEX",
		Buyer: pay.Buyer{Email: "ana@example.com", Name: "Ana Souza", Phone: "+525522997233"},
	}
}

// charges has a sample for each rail.
func charges() map[string]provider.Request {
	all := map[string]provider.Request{}
	for _, rail := range Adapter().Rails {
		all[rail] = sample()
	}
	return all
}

// looks reports whether a request is a list or a query, which come before a charge or refund.
func looks(r *http.Request) bool { return r.Method == http.MethodGet }

func TestAdapter(t *testing.T) {
	providertest.Suite{
		Bare:        "chargeback_response: it has no amount",
		Adapter:     Adapter(),
		Credentials: credentials(),
		New:         func(*testing.T) providertest.Fake { return newFake() },
		Charges:     charges(),
		Hosted:      map[string]string{card: "order checkout: HostedPayment redirects to checkout.url"},
		Looks:       looks,
		Page: &providertest.CardPage{
			Codes: [2]string{"conekta.errors.processing.bank.insufficient_funds", "conekta.errors.processing.bank.declined"},
			Means: [2]decline.Reason{decline.InsufficientFunds, decline.DoNotHonor}, Unproved: "resources/orders/order_cancel_param.yml says nothing of its page",
			Installed: money.New(1_800_00, money.MXN),
		},
		Settles:  settles,
		Nameless: "order_refunds_request: amount, expires_at, reason",
		Untold:   "order.refunded and order.partially_refunded show refunds without a name of ours",
		// The example of a refund is "pending".
		RefundsLater: true,
		Amounts: map[string][]money.Amount{
			spei: {money.New(1, money.MXN), money.New(10_05, money.MXN), money.New(1_000_000_00, money.MXN), money.New(math.MaxInt64-1, money.MXN)},
			card: {money.New(1, money.MXN), money.New(200_000_99, money.MXN)},
		},
	}.Run(t)
}

func connect(t *testing.T) (*account, *fake, *providertest.Line) {
	t.Helper()
	f := newFake()
	a, line := providertest.OpenAccount[*account](t, Adapter(), credentials(), f)
	return a, f, line
}

func request(rail string) provider.Request {
	return providertest.Under(sample(), rail, "01M7ZTEST-1")
}

func TestTheShopperGetsWhatThereIsToPayWith(t *testing.T) {
	a, _, _ := connect(t)
	if o := a.Charge(context.Background(), request(spei)); o.Data.CLABE != "646180111805034237" || o.Data.Bank != "STP" || o.FormURL != providertest.Page {
		t.Errorf("SPEI: %+v", o)
	}
	for rail, want := range map[string]pay.PaymentData{
		"cash.7eleven.MEX": {Reference: "10001140326893401915"}, "cash.circulok.MEX": {Reference: "10001140326893401915"},
		bbva: {Reference: "10830309851141878231", Beneficiary: "Convenio 2409992"},
	} {
		r := request(rail)
		r.Reference = "01M7Z" + rail + "-1"
		if o := a.Charge(context.Background(), r); o.Data != want || o.FormURL != providertest.Page {
			t.Errorf("%s: %+v", rail, o)
		}
	}
}

// Which references an account gets depends on its business.
func TestAReferenceOfAnotherNetworkIsNotOffered(t *testing.T) {
	for rail, products := range map[string]string{"cash.7eleven.MEX": "bbva_cash_in", bbva: "cash_in", "cash.circulok.MEX": "pespay_cash_in", "cash.farmaciasahorro.MEX": "oxxo"} {
		a, f, _ := connect(t)
		f.cash = []string{products}
		for range 2 { // the first answer may be lost
			if o := a.Charge(context.Background(), request(rail)); o.Kind != pay.Errored && o.Kind != pay.Lapsed || o.Kind == pay.Errored && o.Decline != "network_not_enabled" {
				t.Errorf("%s: %+v", rail, o)
			}
		}
		if len(f.Charges) != 1 || f.Charges[0].status != "canceled" {
			t.Errorf("%s: the order is %v", rail, f.Charges[0].status)
		}
	}
}

// A payment may have been made before a rail was given up.
func TestAPaymentOnARailThatIsNotSoldAnyMoreGoesOn(t *testing.T) {
	ctx := context.Background()
	a, f, _ := connect(t)
	f.cash = []string{"cash_in"}
	r := request("cash.7eleven.MEX")
	r.ProviderRef = a.Charge(ctx, r).ProviderRef
	f.Charges[0].charges[0]["payment_method"] = oxxo()
	r.Rail = "cash.oxxo.MEX"
	if o := a.Query(ctx, r); o.Kind != pay.Awaiting || o.Data.Reference != "93000262276908" {
		t.Errorf("it waits: %+v", o)
	}
	if o := a.Cancel(ctx, r); o.Kind != pay.Lapsed {
		t.Errorf("it is canceled: %+v", o)
	}
}

// Each reference of an order is of the whole amount, and somebody may pay two.
func TestBothReferencesOfAnOrderArePaid(t *testing.T) {
	ctx := context.Background()
	a, f, _ := connect(t)
	r := request("cash.7eleven.MEX")
	r.ProviderRef = a.Charge(ctx, r).ProviderRef
	e := f.Charges[0]
	e.charges[0]["status"], e.charges[0]["paid_at"] = "paid", e.made.Unix()+600 // at BBVA; the order does not say so yet
	first := a.Query(ctx, r)
	if first.Kind != pay.Approved || first.Local != r.Local || first.MoneyRef != e.charges[0]["id"] || len(first.Also) != 0 {
		t.Errorf("one: %+v", first)
	}
	f.Move(r.Reference, providertest.Paid)
	e.charges[1]["paid_at"], e.charges[1]["created_at"] = e.made.Unix()+900, 1
	o := a.Query(ctx, r)
	if o.Kind != pay.Approved || o.MoneyRef != first.MoneyRef || len(o.Also) != 1 || o.Also[0].Ref != e.charges[1]["id"] || o.Also[0].Local != r.Local {
		t.Errorf("both: %+v", o)
	}
}

func TestAnOrderIsFoundOnAnyPageOfTheList(t *testing.T) {
	a, f, line := connect(t)
	r := request(spei)
	want := a.Charge(context.Background(), r)
	for i := range 2*perPage + 1 {
		f.Charges = append(f.Charges, &entry{id: fmt.Sprintf("other_%d", i), made: providertest.Noon, Entry: providertest.Entry{Local: r.Local}, metadata: map[string]any{"cascada_reference": map[string]any{"of": "somebody"}}})
	}
	calls := line.Calls()
	if o := a.Query(context.Background(), r); o.Kind != pay.Awaiting || o.ProviderRef != want.ProviderRef || line.Calls() != calls+3 {
		t.Errorf("%+v after %d calls", o, line.Calls()-calls)
	}
	r.Reference, r.Now = "01M7ZTEST-2", r.Sent.Add(settles)
	if o := a.Query(context.Background(), r); o.Kind != pay.Missing {
		t.Errorf("the list ends without it: %+v", o)
	}
	for i := range maxPages * perPage {
		f.Charges = append(f.Charges, &entry{id: fmt.Sprintf("more_%d", i), made: providertest.Noon, Entry: providertest.Entry{Local: r.Local}})
	}
	if o := a.Query(context.Background(), r); o.Kind != pay.Unknown || o.Decline != "too_many_orders" {
		t.Errorf("the list does not end: %+v", o)
	}
}

func TestAPageIsOpenUntilItIsPaidOrOver(t *testing.T) {
	now := providertest.Noon
	a, f, _ := connect(t)
	a.Now = func() time.Time { return now }
	ctx := context.Background()
	r := request(card)
	opened := a.Charge(ctx, r)
	f.Move(r.Reference, providertest.SoftDeclined)
	if o := a.Query(ctx, r); o.Kind != pay.Awaiting || o.FormURL != opened.FormURL {
		t.Errorf("one card was declined: %+v", o)
	}
	if list, err := a.Notices(ctx, f.Notification(r.Reference)); err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.Awaiting || len(list[0].Outcome.Tries) != 1 {
		t.Errorf("one card was declined: %+v, %v", list, err)
	}
	now = r.Expires
	if o := a.Query(ctx, r); o.Kind != pay.Declined || !o.Soft || o.Decline != "do_not_honor" {
		t.Errorf("the page has expired: %+v", o)
	}
	f.Move(r.Reference, providertest.Declined)
	if list, err := a.Notices(ctx, f.Notification(r.Reference)); err != nil || len(list) != 1 || list[0].Outcome.Code != problem.InsufficientFunds {
		t.Errorf("the page has expired: %+v, %v", list, err)
	}
	r.Reference = "01M7ZTEST-2"
	now = providertest.Noon
	a.Charge(ctx, r)
	now = r.Expires
	if o := a.Query(ctx, r); o.Kind != pay.Lapsed {
		t.Errorf("nobody used the page: %+v", o)
	}
}

func TestAPageIsOpenForTheShoppersTime(t *testing.T) {
	a, f, _ := connect(t)
	for left, want := range map[time.Duration]time.Duration{30 * time.Minute: 30 * time.Minute, time.Minute: pageTime, -time.Hour: pageTime, 48 * time.Hour: 48 * time.Hour} {
		r := request(card)
		r.Reference, r.Expires = "01M7Z"+left.String()+"-1", providertest.Noon.Add(left)
		if o := a.Charge(context.Background(), r); o.Kind != pay.Awaiting || f.Charges[len(f.Charges)-1].until != providertest.Noon.Add(want).Unix() {
			t.Errorf("%s are left: %+v, and the page is open until %d", left, o, f.Charges[len(f.Charges)-1].until)
		}
	}
}

func TestWhatCannotBeChargedIsNotSent(t *testing.T) {
	a, _, line := connect(t)
	for want, change := range map[string]func(*provider.Request){
		"buyer_name_missing":  func(r *provider.Request) { r.Buyer.Name = "" },
		"buyer_email_missing": func(r *provider.Request) { r.Buyer.Email = "" },
		"buyer_phone_missing": func(r *provider.Request) { r.Buyer.Phone = "" },
		"currency_not_served": func(r *provider.Request) { r.Local = money.New(100, money.USD) },
		"amount_not_positive": func(r *provider.Request) { r.Local.Minor = -1 },
		"rail_not_served":     func(r *provider.Request) { r.Rail = "pix.BRA" },
	} {
		r := request(card)
		change(&r)
		if o := a.Charge(context.Background(), r); o.Kind != pay.Errored || o.Decline != want {
			t.Errorf("%s: %+v", want, o)
		}
	}
	if line.Calls() != 0 {
		t.Errorf("%d calls were made", line.Calls())
	}
}

func TestRefusedKeyIsNotUnknown(t *testing.T) {
	a, f, _ := connect(t)
	a.key = "key_revoked"
	if o := a.Charge(context.Background(), request(spei)); o.Kind != pay.Unavailable {
		t.Errorf("a charge: %+v", o)
	}
	if o := a.Query(context.Background(), request(spei)); o.Kind != pay.Unknown {
		t.Errorf("a question: %+v", o)
	}
	if err := a.Check(context.Background()); err == nil || strings.Contains(err.Error(), "revoked") || len(f.Books()) != 0 {
		t.Errorf("the check says %v", err)
	}
}

func TestEventsOfOtherThingsTellNothing(t *testing.T) {
	a, f, line := connect(t)
	ctx := context.Background()
	r := request(spei)
	a.Charge(ctx, r)
	live := strings.Replace(string(f.Notification(r.Reference).Body), `"livemode":false,"object":"event"`, `"livemode":true,"object":"event"`, 1)
	for what, n := range map[string]provider.Notification{
		"an order that waits":                    f.Notification(r.Reference),
		"an order that does not exist":           event("1", "order.paid", map[string]any{"object": "order", "id": "ord_none"}),
		"a customer":                             event("1", "customer.created", map[string]any{"object": "customer", "id": "cus_1"}),
		"an order of which nothing is known yet": event("1", "order.created", map[string]any{"object": "order", "id": "../nowhere"}),
		"the merchant's own payout":              event("1", "payout.paid_out", map[string]any{"object": "payout", "id": "pay_1"}),
		"a ping":                                 sign([]byte(`{"id":"1","type":"webhook_ping","data":{"action":"ping"}}`)),
		"another environment's order":            sign([]byte(live)),
	} {
		if list, err := a.Notices(ctx, n); len(list) != 0 || err != nil {
			t.Errorf("%s: %v, %v", what, list, err)
		}
	}
	f.Move(r.Reference, providertest.Paid)
	paid := event("1", "charge.paid", map[string]any{"object": "charge", "id": "1", "order_id": f.Charges[0].id})
	if list, err := a.Notices(ctx, paid); err != nil || len(list) != 1 || list[0].Outcome.Local != r.Local {
		t.Errorf("a charge of ours: %+v, %v", list, err)
	}
	if _, err := a.Notices(ctx, event("1", "order.paid", map[string]any{"object": "order", "id": "../customers"})); err == nil {
		t.Error("a path is taken for an id")
	}
	line.Fail(providertest.ServerError)
	if _, err := a.Notices(ctx, paid); !errors.Is(err, provider.ErrUnreachable) {
		t.Errorf("the order cannot be queried: %v", err)
	}
}

func TestANewEventIsReportedAndItsOrderIsRead(t *testing.T) {
	a, f, line := connect(t)
	r := request(spei)
	a.Charge(context.Background(), r)
	f.Move(r.Reference, providertest.Paid)
	list, err := a.Notices(context.Background(), event("1", "order.raffled", map[string]any{"object": "order", "id": f.Charges[0].id}))
	if err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.Approved || len(line.Unmapped()) != 1 {
		t.Errorf("%+v %v, reported %v", list, err, line.Unmapped())
	}
}

// A store may take the cash back. Which status the order gets then is not documented.
func TestCashThatAStoreTookBack(t *testing.T) {
	ctx := context.Background()
	for status, want := range map[string]struct {
		kind  pay.OutcomeKind
		known bool // how much went back
	}{"reversed": {pay.Reversed, true}, "pending_payment": {pay.Reversed, true}, "canceled": {pay.Reversed, true}, "paid": {pay.Reversed, false}} {
		a, f, _ := connect(t)
		f.cash = []string{"cash_in"}
		r := request("cash.7eleven.MEX")
		a.Charge(ctx, r)
		f.Move(r.Reference, providertest.Paid)
		e := f.Charges[0]
		paid, _ := a.Notices(ctx, f.Notification(r.Reference))
		e.set("pending_payment", status)
		list, err := a.Notices(ctx, event("1", "charge.reversed", map[string]any{"object": "charge", "id": e.charges[0]["id"], "order_id": e.id}))
		if err != nil || len(list) != 1 || list[0].ID == paid[0].ID {
			t.Fatalf("%s: %+v %v", status, list, err)
		}
		o := list[0].Outcome
		if o.Kind != want.kind || o.Local != r.Local || o.MoneyRef != e.charges[0]["id"] || (o.Back != nil && o.Back.Total == r.Local) != want.known {
			t.Errorf("%s: %+v", status, o)
		}
	}
}

// Money is what a charge says, whatever its order says.
func TestATransferOfAnotherAmount(t *testing.T) {
	a, f, _ := connect(t)
	r := request(spei)
	r.ProviderRef = a.Charge(context.Background(), r).ProviderRef
	e := f.Charges[0]
	e.charges[0]["status"], e.charges[0]["amount"] = "paid", int64(200_00)
	o := a.Query(context.Background(), r)
	list, err := a.Notices(context.Background(), event("1", "order.updated", map[string]any{"object": "order", "id": e.id}))
	if o.Kind != pay.Approved || o.Local != money.New(200_00, money.MXN) || err != nil || len(list) != 1 || list[0].Outcome.Local != o.Local {
		t.Errorf("%+v, %+v %v", o, list, err)
	}
}

func TestOrdersMadeElsewhereAreNotOurs(t *testing.T) {
	a, f, _ := connect(t)
	r := request(spei)
	a.Charge(context.Background(), r)
	f.Move(r.Reference, providertest.Paid)
	n := f.Notification(r.Reference)
	for _, m := range []map[string]any{nil, {"cascada_reference": "order 7"}, {"cascada_reference": []int{1}}, {"cascada_reference": "01M7ZTEST-1\x00"}} {
		f.Charges[0].metadata = m
		if list, err := a.Notices(context.Background(), n); len(list) != 0 || err != nil {
			t.Errorf("%v: %v, %v", m, list, err)
		}
	}
}

// The key from the documentation's page about the authentication of webhooks, as in
// the JSON of /webhook_keys.
const documented = `-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA0iz57mpVAvxQtuxOyWsW\nhM1Jai7WB5cNZFs8xK53A9X9LQiXz30pzoFIhVo9Zm5K5GBpb9frCH8w6yr+/xrX\n0VUjbp1VTgZ2iGOm83ykLN7YYQJk5pCt/B69eFPYbMCKFzvauwTtN9tf2KcLQQ2y\nSohxd3H51uUIGcxnSR5oVPoCdY4geSWfK0/FE4SAyVsTB/b3mS0KUor7R2tZupKm\nrS26O6QFQrk0ELuGIIriJimjxaQG9V7E/TumKkbDPAcJsiZBF8oep02sXbdNpaxl\nj5PNkVIQ2F09BfDJl71DrcAIKYXG7HSgDEoiRkZ3jIzudUNA+qkpYwHJ5Qx9qmgy\nuQIDAQAB\n-----END PUBLIC KEY-----\n`

func TestKeysAreReadAsTheyAreCopied(t *testing.T) {
	if publicKey(documented) == nil || publicKey(strings.ReplaceAll(documented, `\n`, "\n")) == nil {
		t.Error("the documented key is refused")
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, _ := x509.MarshalPKIXPublicKey(&curve.PublicKey)
	for _, bad := range []string{"key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))} {
		_, err := Adapter().Open(provider.Account{Credentials: map[string]string{apiKey: testKey, webhookKey: bad}})
		var wrong *provider.FieldError
		if !errors.As(err, &wrong) || wrong.Field != webhookKey {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
	_, err = Adapter().Open(provider.Account{Credentials: map[string]string{apiKey: "key_\n", webhookKey: providertest.PublicKey()}})
	var wrong *provider.FieldError
	if !errors.As(err, &wrong) || wrong.Field != apiKey {
		t.Errorf("a key with a line break: %v", err)
	}
}

func TestAKeyOfAnotherAccountSignsNothing(t *testing.T) {
	a, f, _ := connect(t)
	r := request(spei)
	a.Charge(context.Background(), r)
	f.Move(r.Reference, providertest.Paid)
	a.sign = publicKey(documented)
	if _, err := a.Notices(context.Background(), f.Notification(r.Reference)); !errors.Is(err, provider.ErrUnsigned) {
		t.Errorf("%v, want ErrUnsigned", err)
	}
}

func TestEachStatusHasItsMeaning(t *testing.T) {
	a, _, line := connect(t)
	for status, want := range map[string]pay.OutcomeKind{
		"pending_payment": pay.Awaiting, "pre_authorized": pay.Awaiting, "under_fraud_review": pay.Awaiting, "pending_confirmation": pay.Awaiting,
		"paid": pay.Approved, "partially_refunded": pay.Reversed, "refunded": pay.Reversed, "charged_back": pay.Approved,
		"declined": pay.Declined, "fraudulent": pay.Declined, "expired": pay.Lapsed, "canceled": pay.Lapsed, "voided": pay.Lapsed, "Paid": pay.Unknown,
	} {
		var o order
		text := `{"id":"ord_1","payment_status":%q,"charges":{"data":[{"amount":100,"currency":"MXN","status":%q,"failure_code":"suspected_fraud","payment_method":{"clabe":"646180111805034237"}}]}}`
		if err := read(fmt.Appendf(nil, text, status, status), &o); err != nil {
			t.Fatal(err)
		}
		if got := a.outcome(o, spei, ""); got.Kind != want {
			t.Errorf("%s is %+v, want %s", status, got, want)
		}
	}
	if len(line.Unmapped()) != 1 {
		t.Errorf("counted were %v, want one", line.Unmapped())
	}
}

func TestEachDeclineHasItsReason(t *testing.T) {
	a, _, line := connect(t)
	for word, d := range declines {
		var o order
		text := `{"charges":{"data":[{"created_at":2,"failure_code":"conekta.errors.processing.bank.%s"},{"created_at":1,"failure_code":"older"}]}}`
		if err := read(fmt.Appendf(nil, text, word), &o); err != nil {
			t.Fatal(err)
		}
		got := a.declined(o, pay.Outcome{})
		if m := d.Meaning(); got.Kind != pay.Declined || got.Code != m.Code || got.Soft != m.Elsewhere || got.Decline == "" || got.Message == "" {
			t.Errorf("%s: %+v", word, got)
		}
	}
	if len(line.Unmapped()) != 0 {
		t.Errorf("known words were counted: %v", line.Unmapped())
	}
	unknown := order{Charges: &struct {
		Data    []charge `json:"data"`
		HasMore bool     `json:"has_more"`
	}{Data: []charge{{Failure: "moon_phase"}}}}
	if got := a.declined(unknown, pay.Outcome{}); got.Kind != pay.Declined || got.Soft || len(line.Unmapped()) != 1 {
		t.Errorf("a new reason: %+v, %v", got, line.Unmapped())
	}
}

// LATE-9: an order whose account number was paid twice has two charges.
func TestEachPaidChargeOfAnOrderIsAMoney(t *testing.T) {
	a, _, _ := connect(t)
	var o order
	text := `{"id":"ord_1","payment_status":"paid","charges":{"data":[{"id":"ch_2","amount":9000,"currency":"MXN","status":"paid","created_at":2},{"id":"ch_0","amount":100,"currency":"MXN","status":"expired"},{"id":"ch_1","amount":10000,"currency":"MXN","status":"paid","created_at":1}]}}`
	if err := read([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	got := a.outcome(o, spei, "")
	if got.MoneyRef != "ch_1" || got.Local.Minor != 10000 || len(got.Also) != 1 || got.Also[0] != (pay.Money{Ref: "ch_2", ProviderRef: "ord_1", Local: money.New(9000, money.MXN)}) {
		t.Errorf("%+v", got)
	}
}

func TestHostileOrdersProveNothing(t *testing.T) {
	a, _, _ := connect(t)
	for what, text := range map[string]string{
		"no id":           `{"payment_status":"paid","charges":{"data":[{"amount":1,"currency":"MXN","status":"paid"}]}}`,
		"a path as id":    `{"id":"../x","payment_status":"paid","charges":{"data":[{"amount":1,"currency":"MXN","status":"paid"}]}}`,
		"production":      `{"id":"ord_1","livemode":true,"payment_status":"paid","charges":{"data":[{"amount":1,"currency":"MXN","status":"paid"}]}}`,
		"no charge":       `{"id":"ord_1","payment_status":"paid"}`,
		"a negative one":  `{"id":"ord_1","payment_status":"paid","charges":{"data":[{"amount":-1,"currency":"MXN","status":"paid"}]}}`,
		"an overflow":     `{"id":"ord_1","payment_status":"paid","charges":{"data":[{"amount":9223372036854775807,"currency":"MXN","status":"paid"},{"amount":1,"currency":"MXN","status":"paid"}]}}`,
		"two currencies":  `{"id":"ord_1","payment_status":"paid","charges":{"data":[{"amount":1,"currency":"USD","status":"paid"},{"amount":1,"currency":"MXN","status":"paid"}]}}`,
		"no currency":     `{"id":"ord_1","payment_status":"paid","charges":{"data":[{"amount":1,"currency":"pesos","status":"paid"}]}}`,
		"a short CLABE":   `{"id":"ord_1","payment_status":"pending_payment","charges":{"data":[{"payment_method":{"clabe":"64618011180503423"}}]}}`,
		"two CLABEs":      `{"id":"ord_1","payment_status":"pending_payment","charges":{"data":[{},{}]}}`,
		"a page's script": `{"id":"ord_1","payment_status":null,"checkout":{"url":"javascript:alert(1)","expires_at":9999999999}}`,
	} {
		var o order
		if err := read([]byte(text), &o); err != nil {
			t.Fatal(what, err)
		}
		if got := a.outcome(o, spei, ""); got.Kind != pay.Unknown || got.Local != (money.Amount{}) || got.FormURL != "" {
			t.Errorf("%s: %+v", what, got)
		}
	}
}
