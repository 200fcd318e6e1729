package ebanx

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func samples() (charges map[string]provider.Request, page map[string]string) {
	charges, page = map[string]provider.Request{}, map[string]string{}
	currencies := map[string]money.Currency{"BRA": money.BRL, "MEX": money.MXN, "COL": money.COP, "PER": money.PEN, "CHL": money.CLP}
	for _, rail := range Adapter().Rails {
		country := rail[len(rail)-3:]
		charges[rail] = provider.Request{
			Country: country, Local: money.New(120_000, currencies[country]),
			Buyer: pay.Buyer{Name: "José da Silva", Email: "jose@example.com", Document: "85351346893"},
		}
		if strings.HasPrefix(rail, "card.") {
			page[rail] = "request operation: OP, the customer has not yet filled the payment details"
		}
	}
	return charges, page
}

func TestAdapter(t *testing.T) {
	charges, page := samples()
	providertest.Suite{
		Bare:    "payment notifications: hash_codes and notification_type; /ws/query shows no chargeback",
		Adapter: Adapter(), Credentials: credentials,
		New:     func(*testing.T) providertest.Fake { return newFake() },
		Charges: charges, OnPage: page, RefundsLater: true, Settles: settles,
		Page: &providertest.CardPage{
			Codes: [2]string{"Insufficient funds", "Not accepted"}, Means: [2]decline.Reason{decline.InsufficientFunds, decline.DoNotHonor},
			Once:    "OpenAPI document: OP changes to CA or PE, and PE to CA or CO; ActiveMerchant recorded CA after a refusal",
			Untimed: "OpenAPI document, query: status_date has no zone",
		},
		Looks: func(r *http.Request) bool { return r.URL.Path == "/ws/query" },
		Amounts: map[string][]money.Amount{
			"pix.BRA":               {money.New(1, money.BRL), money.New(10, money.BRL), money.New(99_999_999_99, money.BRL)},
			"bank.pse.COL":          {money.New(1_600_00, money.COP), money.New(1_600_01, money.COP), money.New(123_456_789_00, money.COP)},
			"cash.pagoefectivo.PER": {money.New(500, money.PEN)},
			"spei.MEX":              {money.New(100_01, money.MXN)},
			"cash.servipag.CHL":     {money.New(1_000, money.CLP), money.New(10_000_001, money.CLP)},
			"voucher.safetypay.PER": {money.New(500, money.PEN)},
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
	charges, _ := samples()
	r := charges["pix.BRA"]
	r.Rail, r.Reference, r.PageURL, r.BackURL = "pix.BRA", "01M7Z-1", providertest.Page, providertest.Page
	return r
}

func TestRepliesOfTheSDKsTests(t *testing.T) {
	// From the tests of ebanx/benjamin, shortened.
	const spei = `{"payment":{"hash":"59dd3ebed3328435c46b5b1130ec2cf98e94af449d3b6a51","merchant_payment_code":"01M7Z-1","order_number":null,
		"status":"PE","amount_br":"2388.73","amount_ext":"113.21","amount_iof":"0.00","currency_ext":"USD","payment_type_code":"spei",
		"clabe_account":"646181141900000339","clabe_reference":"4262291","spei_url":"https:\/\/sandbox.ebanx.com\/print\/spei\/execute?hash=59",
		"pre_approved":false,"capture_available":null,"customer":{"document":"0","birth_date":"1966-10-05"}},"status":"SUCCESS"}`
	r := request()
	r.Rail = "spei.MEX"
	o := connect(t, providertest.Says(200, spei)).Charge(context.Background(), r)
	if o.Kind != pay.Awaiting || o.Data.CLABE != "646181141900000339" || o.Data.Reference != "4262291" {
		t.Errorf("SPEI: %+v", o)
	}
	const refunds = `{"payment":{"hash":"59386e0a5f258ffed3bee6fecc9150f916d1e19aa50ec68c","merchant_payment_code":"01M7Z-1","status":"CO",
		"amount_br":"265.00","amount_ext":"80.00","currency_ext":"USD","refunds":[{"id":"21425","merchant_refund_code":null,"status":"RE",
		"amount_ext":"10.23","description":"description"},{"id":"21426","merchant_refund_code":"CLM1","status":"RE","amount_ext":"10.23"}]},
		"status":"SUCCESS"}`
	a := connect(t, providertest.Says(200, refunds))
	if o := a.Query(context.Background(), request()); o.Kind != pay.Reversed || o.Local != money.New(8000, money.USD) || o.Back.Total != money.New(2046, money.USD) || len(o.Back.Refunds) != 2 {
		t.Errorf("confirmed: %+v", o)
	}
	q := provider.RefundRequest{Reference: "CLM1", Charge: request()}
	if o := a.QueryRefund(context.Background(), q); o.Kind != pay.Awaiting || o.ProviderRef != "21426" || o.Local != money.New(1023, money.USD) {
		t.Errorf("refund: %+v", o)
	}
}

// EBANX's documents have no payment that is open after a refusal. If its page goes on nevertheless, the refusal is a try.
func TestARefusalOnAnOpenPageIsATry(t *testing.T) {
	f := newFake()
	a := connect(t, f)
	charges, _ := samples()
	r := providertest.Under(charges["card.BRA"], "card.BRA", "01M7Z-1")
	r.ProviderRef = a.Charge(context.Background(), r).ProviderRef
	if list, err := a.Notices(context.Background(), f.Notification(r.Reference)); err != nil || len(list) != 0 {
		t.Errorf("nothing has happened: %+v, %v", list, err)
	}
	ids := map[string]bool{}
	for description, want := range map[string]decline.Reason{"Not accepted": decline.DoNotHonor, "Insufficient funds": decline.InsufficientFunds} {
		f.find(r.Reference, "").refused = description
		list, err := a.Notices(context.Background(), f.Notification(r.Reference))
		if err != nil || len(list) != 1 || ids[list[0].ID] {
			t.Fatalf("%+v, %v, after %v", list, err, ids)
		}
		ids[list[0].ID] = true
		for what, o := range map[string]pay.Outcome{"query": a.Query(context.Background(), r), "notification": list[0].Outcome} {
			if o.Kind != pay.Awaiting || len(o.Tries) != 1 || o.Tries[0].Reason != want || o.Tries[0].Raw != description {
				t.Errorf("by %s: %+v", what, o)
			}
		}
	}
	if o := a.Cancel(context.Background(), r); o.Kind != pay.Lapsed {
		t.Errorf("the page is ended: %+v", o)
	}
}

func TestCanceledIsARefusalOrTheEndOfTime(t *testing.T) {
	a := connect(t, newFake())
	var told []string
	a.Unmapped = func(word string) { told = append(told, word) }
	at := func(code, reason, text string) pay.Outcome {
		p := payment{Hash: "1", Status: "CA"}
		p.Transaction.Code, p.Transaction.Reason, p.Transaction.Text = code, reason, text
		return a.outcome(request(), p)
	}
	for reason, d := range declines {
		o := at("NOK", reason, "a text")
		if strings.Contains(reason, " ") { // a card's reason
			o = at("NOK", "", reason)
		}
		if m := d.Meaning(); o.Kind != pay.Declined || o.Code != m.Code || o.Soft != m.Elsewhere || o.Decline == "" || o.Message == "" {
			t.Errorf("%s: %+v", reason, o)
		}
	}
	soft := []string{
		"BROKEN_COMMUNICATION", "CANNOT_TRANSACTION", "COMMUNICATION_MISMATCH", "Broken communication", "Communication mismatch", "Not accepted", "Timeout",
		"No response from acquirer", "Acquirer response error", "3-D Secure required",
	}
	for reason, d := range declines {
		if d.Meaning().Elsewhere != slices.Contains(soft, reason) {
			t.Errorf("%s is soft: %t", reason, d.Meaning().Elsewhere)
		}
	}
	for reason, want := range map[string]string{
		"insufficientFunds": "Insufficient funds", "invalidData": "Incorrect customer data", "cardExpired": "Expired card", "notApproved": "Not accepted",
	} {
		o := at("NOK", "", "Sandbox - Test credit card, transaction declined reason "+reason)
		if d := declines[want]; o.Kind != pay.Declined || o.Code != d.Meaning().Code || o.Decline != string(d) || o.Soft != d.Meaning().Elsewhere {
			t.Errorf("the sandbox's %s: %+v, want as %s", reason, o, want)
		}
	}
	o := at("NOK", "", "Not accepted")
	if want := []decline.Try{{ID: "1/do_not_honor", Reason: decline.DoNotHonor, Raw: "Not accepted", Soft: true}}; !slices.Equal(o.Tries, want) {
		t.Errorf("the tries are %+v, want %+v", o.Tries, want)
	}
	for _, o := range []pay.Outcome{
		at("", "", ""), at("OK", "ACCEPTED", ""), at("NOK", "CANCELED_BY_MERCHANT", ""), at("NOK", "", "Sandbox - Test credit card, transaction cancelled"),
	} {
		if o.Kind != pay.Lapsed || len(o.Tries) != 0 {
			t.Errorf("%+v, want an expired payment", o)
		}
	}
	if o := at("RETRY", "", "Timeout"); o.Kind != pay.Declined || !o.Soft { // "something went wrong with the process" (the OpenAPI document)
		t.Errorf("RETRY: %+v", o)
	}
	if o = at("NOK", "MOON_PHASE", ""); o.Kind != pay.Declined || o.Soft || !slices.Equal(told, []string{"declined: MOON_PHASE"}) {
		t.Errorf("%+v, told of %v", o, told)
	}
}

func TestRefusalsOfACharge(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		kind   pay.OutcomeKind
	}{
		{200, `{"status":"ERROR","status_code":"BP-DR-6","status_message":"Amount reported is less than the minimum amount"}`, pay.Errored},
		{400, `{"status":"ERROR","status_code":"BP-DR-6"}`, pay.Errored},
		{200, `{"status":"ERROR","status_code":"BP-DR-0"}`, pay.Unknown}, // and the query is refused as well
		{200, `{"status":"ERROR","status_code":"BP-DR-84","status_message":"Duplicate payment for the same customer and amount within 5 minutes"}`, pay.Declined},
		{200, `{"status":"ERROR","status_code":"DA-1","status_message":"Invalid integration key"}`, pay.Unavailable},
		{200, `{"status":"ERROR","status_code":"BP-SA-1","status_message":"Parameter integration_key not found"}`, pay.Unavailable},
		{200, `{"status":"ERROR","status_code":"BP-SA-2","status_message":"Invalid integration key"}`, pay.Unavailable},
		{401, `{"status":"ERROR","status_code":"DA-1","status_message":"Invalid integration key"}`, pay.Unavailable},
		{500, `{"status":"ERROR","status_code":"DA-1","status_message":"Invalid integration key"}`, pay.Unknown},
		{200, `{"status":"ERROR"}`, pay.Unknown},
		{200, `{"status":"ERROR","status_code":"XX-1"}`, pay.Unknown},
		{403, `<html>`, pay.Unavailable},
		{429, `{"status":"ERROR","status_code":"BP-RL-1"}`, pay.Unavailable},
		{500, `{"status":"ERROR","status_code":"BP-DR-6"}`, pay.Unknown},
		{302, ``, pay.Unknown},
	} {
		if o := connect(t, providertest.Says(c.status, c.body)).Charge(context.Background(), request()); o.Kind != c.kind {
			t.Errorf("%d %s: %+v, want %s", c.status, c.body, o, c.kind)
		}
	}
}

func TestOnlyAPaymentThatIsNotFoundIsMissing(t *testing.T) {
	for body, want := range map[string]pay.OutcomeKind{
		`{"status":"ERROR","status_code":"BP-X-1","status_message":"Payment not found"}`:                         pay.Missing,
		`{"status":"ERROR","status_code":"BP-SA-1","status_message":"Parameter integration_key not found"}`:      pay.Unknown,
		`{"status":"ERROR","status_code":"BP-SA-9","status_message":"Payment account not found"}`:                pay.Unknown,
		`{"status":"ERROR","status_code":"BP-X-1","status_message":"Parameter merchant_payment_code not found"}`: pay.Unknown,
		`{"status":"ERROR","status_message":"Payment not found"}`:                                                pay.Unknown,
	} {
		if o := connect(t, providertest.Says(200, body)).Query(context.Background(), request()); o.Kind != want {
			t.Errorf("%s: %s, want %s", body, o.Kind, want)
		}
	}
	r := request()
	r.ProviderRef = "abc" // EBANX's id: so the payment existed once
	gone := `{"status":"ERROR","status_code":"BP-X-1","status_message":"Payment not found"}`
	if o := connect(t, providertest.Says(200, gone)).Query(context.Background(), r); o.Kind != pay.Unknown {
		t.Errorf("a payment that EBANX no longer knows is %s", o.Kind)
	}
}

func TestHostileAnswersProveNothing(t *testing.T) {
	for _, p := range []string{
		`{"hash":"abc","merchant_payment_code":"01M7Z-1","status":"CO","amount_ext":"-5.00","currency_ext":"BRL"}`,
		`{"hash":"abc","merchant_payment_code":"01M7Z-1","status":"CO","amount_ext":"0.00","currency_ext":"BRL"}`,
		`{"hash":"abc","merchant_payment_code":"01M7Z-1","status":"CO","amount_ext":"1.234","currency_ext":"BRL"}`,
		`{"hash":"abc","merchant_payment_code":"01M7Z-1","status":"CO","amount_ext":"five","currency_ext":"BRL"}`,
		`{"hash":"abc","merchant_payment_code":"01M7Z-1","status":"CO","amount_ext":"5.00","currency_ext":"brl"}`,
		`{"hash":"abc","merchant_payment_code":"somebody else's","status":"CO","amount_ext":"5.00","currency_ext":"BRL"}`,
		`{"hash":"../x","merchant_payment_code":"01M7Z-1","status":"CO","amount_ext":"5.00","currency_ext":"BRL"}`,
		`{"hash":"","merchant_payment_code":"01M7Z-1","status":"CO","amount_ext":"5.00","currency_ext":"BRL"}`,
		`{"hash":7,"merchant_payment_code":"01M7Z-1","status":"CO","amount_ext":"5.00","currency_ext":"BRL"}`,
		`[]`, `null`,
	} {
		body := `{"status":"SUCCESS","payment":` + p + `}`
		if o := connect(t, providertest.Says(200, body)).Charge(context.Background(), request()); o.Kind != pay.Unknown {
			t.Errorf("%s: %+v", body, o)
		}
	}
}

func TestOnlyCleanTextReachesTheShopper(t *testing.T) {
	p := payment{Hash: "1", Status: "PE", Redirect: "javascript:alert(1)"}
	p.Pix.Code = "0002\x0001\n"
	a := connect(t, newFake())
	if o := a.outcome(request(), p); o.Data.QRCode != "" || o.FormURL != providertest.Page {
		t.Errorf("%+v", o)
	}
	p.Pix.Code = strings.Repeat("9", 5000)
	if o := a.outcome(request(), p); o.Data.QRCode != "" || o.FormURL != providertest.Page {
		t.Errorf("%+v", o)
	}
}

func TestABuyerWithoutWhatEBANXNeeds(t *testing.T) {
	f := newFake()
	a := connect(t, f)
	r := request()
	r.Buyer.Document = ""
	if o := a.Charge(context.Background(), r); o.Kind != pay.Errored || o.Decline != "buyer_incomplete" || len(f.Books()) != 0 {
		t.Errorf("%+v", o)
	}
	r.Rail = "card.BRA" // the data is entered on EBANX's page
	if o := a.Charge(context.Background(), r); o.Kind != pay.Awaiting {
		t.Errorf("%+v", o)
	}
}

func TestALongRefundReferenceIsHashed(t *testing.T) {
	short, long := refundCode("CLM1"), refundCode("01JD7Q4Z5Y6W8X9V0T1S2R3P4N-1")
	if short != "CLM1" || len(long) != 20 || long == refundCode("01JD7Q4Z5Y6W8X9V0T1S2R3P4N-2") {
		t.Errorf("%s, %s", short, long)
	}
}

func TestRefundWords(t *testing.T) {
	for status, want := range map[string]pay.OutcomeKind{
		"RE": pay.Awaiting, "PE": pay.Awaiting, "CO": pay.Approved, "CA": pay.Declined, "ZZ": pay.Unknown,
	} {
		if o := connect(t, newFake()).refundOutcome(refund{ID: "1", Status: status, Amount: "1.00"}, "BRL"); o.Kind != want {
			t.Errorf("%s: %+v, want %s", status, o, want)
		}
	}
}

func TestOneNotificationOfSeveralPayments(t *testing.T) {
	f := newFake()
	a := connect(t, f)
	var hashes []string
	for _, reference := range []string{"01M7Z-1", "01M7Z-2", "01M7Z-3"} {
		r := request()
		r.Reference = reference
		hashes = append(hashes, a.Charge(context.Background(), r).ProviderRef)
	}
	f.Move("01M7Z-1", providertest.Paid)
	f.Move("01M7Z-3", providertest.Expired)
	hashes = append(hashes, strings.Repeat("f", 48)) // EBANX itself does not know it
	n := notification("operation=payment_status_change&notification_type=update&hash_codes=" + strings.Join(hashes, ","))
	list, err := a.Notices(context.Background(), n)
	if err != nil || len(list) != 2 || list[0].Reference != "01M7Z-1" || list[0].Outcome.Kind != pay.Approved ||
		list[1].Reference != "01M7Z-3" || list[1].Outcome.Kind != pay.Lapsed || list[0].ID == list[1].ID {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestNotificationsThatAreNotOfPayments(t *testing.T) {
	a := connect(t, newFake())
	var told []string
	a.Unmapped = func(word string) { told = append(told, word) }
	for _, body := range []string{
		"operation=enrollment_status_change&notification_type=update", "operation=payment_status_change&notification_type=refund&hash_codes=abc", // the hash is not one of EBANX's
		"operation=payment_status_change&notification_type=moon&hash_codes=abc", "operation=pix_return&notification_type=update&hash_codes=abc",
	} {
		if list, err := a.Notices(context.Background(), notification(body)); err != nil || len(list) != 0 {
			t.Errorf("%s: %d, %v", body, len(list), err)
		}
	}
	if !slices.Equal(told, []string{"notification: moon", "notification: of pix_return"}) {
		t.Errorf("told of %v", told)
	}
	for _, body := range []string{
		"operation=payment_status_change&notification_type=update", "operation=payment_status_change&notification_type=update&hash_codes=a/b",
		"operation=payment_status_change&notification_type=update&hash_codes=" + strings.Repeat("a,", 200) + "a", "%zz",
	} {
		if list, err := a.Notices(context.Background(), notification(body)); err == nil {
			t.Errorf("%.80s: %d notices", body, len(list))
		}
	}
}

func TestWhatANotificationMeans(t *testing.T) {
	f := newFake()
	a := connect(t, f)
	hash := a.Charge(context.Background(), request()).ProviderRef
	f.Move("01M7Z-1", providertest.Paid)
	for body, want := range map[string]pay.Notice{
		"operation=payment_status_change&notification_type=update":            {Outcome: pay.Outcome{Kind: pay.Approved}},
		"operation=payment_status_change&notification_type=chargeback":        {Stage: "chargeback", Dispute: true},
		"operation=payment_status_change&notification_type=chargeback_credit": {Stage: "chargeback_credit", Ruling: pay.DisputeWon},
		"operation=payment_status_change&notification_type=moon":              {Unread: true, Outcome: pay.Outcome{Kind: pay.Unknown}},
		"operation=pix_return&notification_type=update":                       {Unread: true, Outcome: pay.Outcome{Kind: pay.Unknown}},
	} {
		list, err := a.Notices(context.Background(), notification(body+"&hash_codes="+hash))
		if err != nil || len(list) != 1 {
			t.Errorf("%s: %+v, %v", body, list, err)
			continue
		}
		n := list[0]
		if n.Reference != "01M7Z-1" || n.Outcome.Kind != want.Outcome.Kind || n.Dispute != want.Dispute || n.Ruling != want.Ruling || n.Stage != want.Stage || n.Unread != want.Unread {
			t.Errorf("%s: %+v", body, n)
		}
		if !want.Unread && n.Outcome.MoneyRef != hash {
			t.Errorf("%s: of money %q, want %q", body, n.Outcome.MoneyRef, hash)
		}
	}
}

func TestAnUnknownStateIsForTheOperator(t *testing.T) {
	const payment = `{"status":"SUCCESS","payment":{"hash":"abc","merchant_payment_code":"01M7Z-1","status":"%s","amount_ext":"72.00","currency_ext":"BRL",
		"refunds":[{"id":"1","merchant_refund_code":"%s","description":"refund %[2]s","status":"%s","amount_ext":5}]}}`
	for _, c := range []struct{ kind, status, refund, state string }{
		{"update", "ZZ", "01M7Z-2", "CO"}, {"refund", "CO", "01M7Z-2", "ZZ"}, {"refund", "CO", "of the panel", "ZZ"},
	} {
		a := connect(t, providertest.Says(http.StatusOK, fmt.Sprintf(payment, c.status, c.refund, c.state)))
		list, err := a.Notices(context.Background(), notification("operation=payment_status_change&notification_type="+c.kind+"&hash_codes=abc"))
		if err != nil || len(list) != 1 || !list[0].Unread {
			t.Errorf("%+v: %+v, %v", c, list, err)
		}
	}
}

// A refund that EBANX notifies is in the payment. If a query does not have it yet, the notification has to come again.
func TestANotificationOfARefundWaitsForThePayment(t *testing.T) {
	f := newFake()
	a := connect(t, f)
	r := request()
	a.Charge(context.Background(), r)
	f.Move(r.Reference, providertest.Paid)
	n := f.RefundNotification(r.Reference, 0)
	if list, err := a.Notices(context.Background(), n); len(list) != 0 || !errors.Is(err, provider.ErrUnreachable) {
		t.Errorf("not there yet: %+v, %v, want ErrUnreachable", list, err)
	}
	f.Charges[0].Refunds = []providertest.Refund{{Reference: "panel painel", Local: r.Local, Ending: providertest.Paid}}
	if list, err := a.Notices(context.Background(), n); err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.Reversed || list[0].Outcome.Back.Total != r.Local {
		t.Errorf("there: %+v, %v", list, err)
	}
}

func TestNotificationIsRetriedIfItCannotBeQueried(t *testing.T) {
	n := notification("operation=payment_status_change&notification_type=update&hash_codes=abc")
	for _, a := range []*account{connect(t, providertest.Says(503, "")), connect(t, providertest.Says(200, "{}")), connect(t, providertest.Says(200, `{"status":"ERROR","status_code":"BP-SA-1"}`))} {
		if _, err := a.Notices(context.Background(), n); !errors.Is(err, provider.ErrUnreachable) {
			t.Errorf("%v, want ErrUnreachable", err)
		}
	}
}

func TestTheSignaturesHeaderHasTwoSpellings(t *testing.T) {
	a := connect(t, newFake())
	n := notification("operation=enrollment_status_change")
	n.Header.Set("X-Signature-Content", n.Header.Get("X-SignatureContent"))
	n.Header.Del("X-SignatureContent")
	if _, err := a.Notices(context.Background(), n); err != nil {
		t.Error(err)
	}
	n.Body[0] ^= 1
	if _, err := a.Notices(context.Background(), n); !errors.Is(err, provider.ErrUnsigned) {
		t.Errorf("%v, want ErrUnsigned", err)
	}
}

func TestInvalidCredentialsAreRefused(t *testing.T) {
	for field, value := range map[string]string{"integrationKey": "two words", "certificate": "not PEM"} {
		broken := map[string]string{"integrationKey": key, "certificate": certificate, field: value}
		_, err := open(provider.Account{Credentials: broken})
		var wrong *provider.FieldError
		if !errors.As(err, &wrong) || wrong.Field != field || strings.Contains(err.Error(), value+" ") {
			t.Errorf("%s: %v", field, err)
		}
	}
	good := connect(t, newFake())
	good.key = "0ther"
	if err := good.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "key is not known") || strings.Contains(err.Error(), "0ther") {
		t.Errorf("a wrong key: %v", err)
	}
	if o := good.Charge(context.Background(), request()); o.Kind != pay.Unavailable {
		t.Errorf("a charge with a wrong key: %+v", o)
	}
	if o := good.Query(context.Background(), request()); o.Kind != pay.Unknown {
		t.Errorf("a query with a wrong key: %+v", o)
	}
}

// A company has a CNPJ, of digits or, since July 2026, also with letters.
func TestACompanyPays(t *testing.T) {
	for _, document := range []string{"11222333000181", "12ABC34501DE35"} {
		f := newFake()
		a, r := connect(t, f), request()
		r.Buyer.Name, r.Buyer.Document = "Comercial do Sul Ltda", document
		if o := a.Charge(context.Background(), r); o.Kind != pay.Awaiting || o.Data.QRCode == "" {
			t.Fatalf("%s: %+v", document, o)
		}
		if c := f.Charges[0]; c.kind != "business" || c.responsible["name"] != r.Buyer.Name || c.responsible["document"] != document {
			t.Errorf("%s: the payer is %s, responsible is %v", document, c.kind, c.responsible)
		}
		r.Rail, r.Reference = "boleto.BRA", "01M7Z-2" // on EBANX's page
		if o := a.Charge(context.Background(), r); o.Kind != pay.Awaiting || f.Charges[1].kind != "business" {
			t.Errorf("%s, on a page: %+v, the payer is %s", document, o, f.Charges[1].kind)
		}
	}
	for rail, document := range map[string]string{"pix.BRA": "85351346893", "spei.MEX": "12345678901234"} {
		f := newFake()
		r := request()
		r.Rail, r.Buyer.Document = rail, document
		if o := connect(t, f).Charge(context.Background(), r); o.Kind != pay.Awaiting || f.Charges[0].kind == "business" {
			t.Errorf("%s: %+v, want a person: %+v", rail, o, f.Charges)
		}
	}
}
