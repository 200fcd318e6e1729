package dlocal

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
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

// order returns a payout to a person over a rail; with changes it.
func orderOf(rail string, minor int64, to string, who pay.Beneficiary) payouts.Request {
	network, currency, _ := strings.Cut(rail, ".")
	return payouts.Request{
		Amount: money.New(2600, money.USD), Net: money.New(2500, money.USD), Local: money.New(minor, money.Currency(currency)),
		Type: pay.BankAccount, Network: network, Currency: currency, Destination: to, Beneficiary: who,
	}
}

const (
	testCPF   = "52998224725"
	testCLABE = "646180157000000004"
	testCBU   = "2850590940090418135201"
)

func samplePayouts() map[string]payouts.Request {
	return map[string]payouts.Request{
		"pix.BRL":     orderOf("pix.BRL", 12345, testCPF, pay.Beneficiary{Name: "Ana  Souza Lima"}),
		"spei.MXN":    orderOf("spei.MXN", 12900, testCLABE, pay.Beneficiary{Name: "Ana Gómez", Document: "GOMA800101AB1"}),
		"cbu.ARS":     orderOf("cbu.ARS", 100050, testCBU, pay.Beneficiary{Name: "Ana Gómez", Document: "27123456780", AccountType: "savings"}),
		"account.CLP": orderOf("account.CLP", 119148, "123456789123", pay.Beneficiary{Name: "Ana Rojas", Document: "12345678K", Bank: "016", AccountType: "checking", Country: "CHL"}),
		"account.UYU": orderOf("account.UYU", 11439, "00099299700002", pay.Beneficiary{Name: "Ana Silva", Document: "87417771", Bank: "113", Branch: "11", AccountType: "checking"}),
	}
}

// changed returns a sample with changes.
func changed(rail string, change func(*payouts.Request)) payouts.Request {
	r := samplePayouts()[rail]
	change(&r)
	return r
}

func TestDLocalPaysOutAsTheCoreNeedsIt(t *testing.T) {
	without := map[payouttest.Behaviour]string{
		payouttest.ComesBack: "no status and no page tells of a return (reference/payout-status-v3)",
	}
	for _, why := range []payouttest.Behaviour{payouttest.InvalidAccount, payouttest.AccountClosed, payouttest.Compliance, payouttest.OverLimit} {
		without[why] = "why a payout is REJECTED is told in words that are not documented (reference/payout-status-v3, error-codes-payouts-v3)"
	}
	company := func(rail, document string) payouts.Request {
		return changed(rail, func(r *payouts.Request) { r.Name, r.Document = "Comercial", document })
	}
	two := func(rail, document string) payouts.Request {
		return changed(rail, func(r *payouts.Request) { r.Name, r.Document = "Comercial del Sur SA", document })
	}
	payouttest.Suite{
		Adapter: PayoutAdapter(), Credentials: payoutCredentials,
		New:     func(*testing.T) payouttest.Fake { return &payoutFake{} },
		Payouts: samplePayouts(),
		More: map[string]payouts.Request{
			"a Brazilian company":  changed("pix.BRL", func(r *payouts.Request) { r.Name, r.Destination = "Comercial", "11222333000181" }),
			"a Mexican company":    company("spei.MXN", "CDS800101AB1"),
			"a Mexican by CURP":    changed("spei.MXN", func(r *payouts.Request) { r.Document = "GOMA800101MDFRRN09" }),
			"an Argentine company": company("cbu.ARS", "30712345671"),
			"a Chilean company":    company("account.CLP", "761234560"), "a short RUT": changed("account.CLP", func(r *payouts.Request) { r.Document = "92345678" }),
			"a Uruguayan company": two("account.UYU", "211003420017"), "a short identity card": changed("account.UYU", func(r *payouts.Request) { r.Document = "741777" }),
			"one centavo": changed("pix.BRL", func(r *payouts.Request) { r.Local.Minor = 1 }), "much": changed("account.CLP", func(r *payouts.Request) { r.Local.Minor = 1e15 }),
		},
		Unsendable: map[string]payouts.Request{
			"nothing": changed("pix.BRL", func(r *payouts.Request) { r.Local.Minor = 0 }), "less than nothing": changed("spei.MXN", func(r *payouts.Request) { r.Local.Minor = -1 }),
			"dollars": changed("pix.BRL", func(r *payouts.Request) { r.Local = money.New(5, money.USD) }), "an unserved currency": changed("account.CLP", func(r *payouts.Request) { r.Currency, r.Local.Currency = "COP", "COP" }),
			"a wallet of tokens": changed("pix.BRL", func(r *payouts.Request) { r.Type = pay.Crypto }), "another country": changed("account.CLP", func(r *payouts.Request) { r.Country = "USA" }),
			"a telephone": changed("pix.BRL", func(r *payouts.Request) { r.Destination = "+5511999999999" }), "an e-mail address": changed("pix.BRL", func(r *payouts.Request) { r.Destination = "a@example.com" }),
			"a CNPJ with letters": changed("pix.BRL", func(r *payouts.Request) { r.Destination = "12ABC34501DE35" }), "a random key": changed("pix.BRL", func(r *payouts.Request) { r.Destination = "c4249323-b4ca-43f2-8139-8232aab09b93" }), "twelve digits": changed("pix.BRL", func(r *payouts.Request) { r.Destination = "529982247251" }),
			"no name": changed("cbu.ARS", func(r *payouts.Request) { r.Name = "" }), "one name of a person": changed("pix.BRL", func(r *payouts.Request) { r.Name = "Ana" }),
			"one name of a Uruguayan company": company("account.UYU", "211003420017"), "no document": changed("spei.MXN", func(r *payouts.Request) { r.Document = "" }),
			"a document of no kind": changed("spei.MXN", func(r *payouts.Request) { r.Document = "GOMA800101" }), "a foreigner's CUIT": changed("cbu.ARS", func(r *payouts.Request) { r.Document = "50123456780" }),
			"a RUT with letters": changed("account.CLP", func(r *payouts.Request) { r.Document = "1234567KK" }), "a RUT of a letter": changed("account.CLP", func(r *payouts.Request) { r.Document = "12345678L" }),
			"a long RUT": changed("account.CLP", func(r *payouts.Request) { r.Document = "1234567890" }), "a document between": changed("account.UYU", func(r *payouts.Request) { r.Document = "123456789" }),
			"no type of account": changed("cbu.ARS", func(r *payouts.Request) { r.AccountType = "" }), "another type": changed("cbu.ARS", func(r *payouts.Request) { r.AccountType = "gold" }),
			"no bank": changed("account.CLP", func(r *payouts.Request) { r.Bank = "" }), "no branch": changed("account.UYU", func(r *payouts.Request) { r.Branch = "" }), "no CLABE": changed("spei.MXN", func(r *payouts.Request) { r.Destination = "646" }),
		},
		Without: without, Settles: settles,
	}.Run(t)
}

// dLocal's page for Brazil has a CNPJ as a number of 14 digits.
func TestCNPJWithLettersIsNotPaid(t *testing.T) {
	s, _, _, r := paying(t)
	if err := s.Fits(r); err != nil {
		t.Errorf("a CPF: %v", err)
	}
	r.Destination = "12ABC34501DE35"
	if err := s.Fits(r); err == nil || !strings.Contains(err.Error(), "letters") {
		t.Errorf("a CNPJ with letters: %v", err)
	}
}

// paying is an account at its own fake, which uses the line's clock, and a payout.
func paying(t *testing.T) (*sender, *payoutFake, *payouttest.Line, payouts.Request) {
	t.Helper()
	f := &payoutFake{}
	return payingAt(t, f, f)
}

// hostile is paying at a fake that may answer what no document allows.
func hostile(t *testing.T) (*sender, *payoutFake, *payouttest.Line, payouts.Request) {
	t.Helper()
	f := &payoutFake{}
	return payingAt(t, f, http.HandlerFunc(f.ServeHTTP))
}

func payingAt(t *testing.T, f *payoutFake, upstream http.Handler) (*sender, *payoutFake, *payouttest.Line, payouts.Request) {
	t.Helper()
	s, line := payouttest.OpenAccount[*sender](t, PayoutAdapter(), payoutCredentials, upstream)
	f.clock = line.Time
	r := samplePayouts()["pix.BRL"]
	r.Reference, r.Calls, r.Sent, r.Now = "01M7ZBVYT4", 1, line.Time(), line.Time()
	t.Cleanup(func() {
		if list := f.Complaints(); len(list) > 0 {
			t.Errorf("undocumented requests: %q", list)
		}
	})
	return s, f, line, r
}

func wantPayout(t *testing.T, what string, o pay.PayoutOutcome, kind pay.PayoutKind, code string) {
	t.Helper()
	if o.Kind != kind || o.Code != code {
		t.Errorf("%s: it is %s %q (%s), want %s %q", what, o.Kind, o.Code, o.Message, kind, code)
	}
}

// The first is dLocal's own example, except for the person (reference: Environments, Payouts v3).
func TestWhatIsSent(t *testing.T) {
	company := samplePayouts()["account.UYU"]
	company.Name, company.Document = "Hoy  SA", "211003420017"
	for want, r := range map[string]payouts.Request{
		`{"external_id":"01M7ZBVYT4","payment_method_id":"INSTANT_PAYMENT","flow_type":"B2C","country":"BR","currency":"BRL","amount":123.45,"purpose":"DIGITAL_GOODS","description":"DELIVERED:PAID",
		  "notification_url":"` + providertest.Notifications + `","beneficiary":{"first_name":"Ana","last_name":"Souza Lima","document":{"id":"52998224725"},"instant_payment":{"id":"52998224725"}}}`: samplePayouts()["pix.BRL"],
		`{"external_id":"01M7ZBVYT4","payment_method_id":"BANK_TRANSFER","flow_type":"B2C","country":"MX","currency":"MXN","amount":129,"purpose":"DIGITAL_GOODS","description":"DELIVERED:PAID",
		  "notification_url":"` + providertest.Notifications + `","beneficiary":{"first_name":"Ana","last_name":"Gómez","document":{"type":"RFC","id":"GOMA800101AB1"},"bank_account":{"code":"646","account":"` + testCLABE + `"}}}`: samplePayouts()["spei.MXN"],
		`{"external_id":"01M7ZBVYT4","payment_method_id":"BANK_TRANSFER","flow_type":"B2B","country":"UY","currency":"UYU","amount":114.39,"purpose":"DIGITAL_GOODS","description":"DELIVERED:PAID",
		  "notification_url":"` + providertest.Notifications + `","beneficiary":{"first_name":"Hoy","last_name":"SA","business_name":"Hoy SA","document":{"type":"RUT","id":"211003420017"},
		  "bank_account":{"code":"113","branch":"11","type":"CHECKING","account":"00099299700002"}}}`: company,
	} {
		s, f, _, _ := paying(t)
		r.Reference, r.Calls = "01M7ZBVYT4", 1
		wantPayout(t, r.Network, s.Send(context.Background(), r), pay.PayoutPaid, "")
		if sent := providertest.Fields(f.last); !reflect.DeepEqual(sent, providertest.Fields([]byte(want))) {
			t.Errorf("%s: %s, want %s", r.Network, f.last, want)
		}
	}
}

// The sandbox is told what to play; production has a description of the payout there.
func TestOnlyTheSandboxIsToldWhatToPlay(t *testing.T) {
	s, _, _, r := paying(t)
	for live, want := range map[bool]string{false: "DELIVERED:PAID", true: ""} {
		s.Live = live
		if q, refused := s.order(r); refused != nil || q.Description != want {
			t.Errorf("live %t: described as %q, want %q", live, q.Description, want)
		}
	}
}

// refused returns a payout that is refused with an answer's body.
func refusedPayout(t *testing.T, status int, body string, change func(*payoutFake, *payouts.Request)) pay.PayoutOutcome {
	t.Helper()
	s, f, _, r := hostile(t)
	f.status, f.says = status, body
	if change != nil {
		change(f, &r)
	}
	return s.Send(context.Background(), r)
}

func TestOnlyTheFirstCallIsProvedByItsRefusal(t *testing.T) {
	for body, want := range map[string]pay.PayoutOutcome{
		`{"code":3000,"message":"Invalid params","param":"beneficiary.document.id"}`: {Kind: pay.PayoutUnavailable, Code: "refused"},
		`{"code":3001,"message":"Empty params","param":"Ana 52998224725"}`:           {Kind: pay.PayoutUnavailable, Code: "refused"},
		`{"code":3003}`: {Kind: pay.PayoutUnavailable, Code: "bank_not_served"}, `{"code":5007}`: {Kind: pay.PayoutUnavailable, Code: "unsupported"},
		`{"code":5008}`: {Kind: pay.PayoutUnavailable, Code: "limit_exceeded"}, `{"code":5014}`: {Kind: pay.PayoutUnavailable, Code: "insufficient_funds"},
		`{"code":5012}`: {Kind: pay.PayoutRejected, Code: "limit_exceeded"}, `{"code":5013}`: {Kind: pay.PayoutRejected, Code: "compliance_rejected"},
		`{"code":5015}`: {Kind: pay.PayoutRejected, Code: "compliance_rejected"},
		// 5011 says that the payout exists; the other codes may be about anything.
		`{"code":5011}`: {Kind: pay.PayoutUnknown}, `{"code":5009}`: {Kind: pay.PayoutUnknown}, `{"code":5010}`: {Kind: pay.PayoutUnknown},
		`{"code":7000}`: {Kind: pay.PayoutUnknown}, `{"code":5099}`: {Kind: pay.PayoutUnknown}, `{}`: {Kind: pay.PayoutUnknown}, `[]`: {Kind: pay.PayoutUnknown},
	} {
		o := refusedPayout(t, 0, body, nil)
		wantPayout(t, body, o, want.Kind, want.Code)
		if strings.Contains(o.Message, "Ana") || strings.Contains(body, "document.id") != strings.Contains(o.Message, "document.id") {
			t.Errorf("%s: the message is %q", body, o.Message)
		}
		wantPayout(t, body+" to a second call", refusedPayout(t, 0, body, func(_ *payoutFake, r *payouts.Request) { r.Calls = 2 }), pay.PayoutUnknown, "")
		wantPayout(t, body+", and theirs is known", refusedPayout(t, 0, body, func(_ *payoutFake, r *payouts.Request) { r.ProviderRef = "PO-4-1" }), pay.PayoutUnknown, "")
		for _, status := range []int{http.StatusNotFound, http.StatusConflict, http.StatusInternalServerError, http.StatusBadGateway} {
			wantPayout(t, body, refusedPayout(t, status, body, nil), pay.PayoutUnknown, "")
		}
		for status, code := range map[int]string{http.StatusUnauthorized: "not_permitted", http.StatusForbidden: "not_permitted", http.StatusTooManyRequests: "rate_limited"} {
			wantPayout(t, body, refusedPayout(t, status, body, nil), pay.PayoutUnavailable, code)
			wantPayout(t, body+" to a second call", refusedPayout(t, status, body, func(_ *payoutFake, r *payouts.Request) { r.Calls = 2 }), pay.PayoutUnknown, "")
		}
	}
}

// An earlier call arrived, and its reply was lost: whatever refuses the next call, the payout's
// state is that of the first one.
func TestARefusedRepetitionIsAQuestion(t *testing.T) {
	ctx := context.Background()
	for _, calls := range []int{1, 2} {
		s, f, line, r := paying(t)
		line.Fail(payouttest.DropAfter, 2)
		f.Next(payouttest.Slow)
		wantPayout(t, "the call", s.Send(ctx, r), pay.PayoutUnknown, "")
		r.Calls = calls
		wantPayout(t, "the call again", s.Send(ctx, r), pay.PayoutAccepted, "")
		f.Complete(r.Reference)
		wantPayout(t, "the call after that", s.Send(ctx, r), pay.PayoutPaid, "")
		if len(f.Books()) != 1 || f.Books()[0].Times != 1 {
			t.Errorf("the books have %+v", f.Books())
		}
		line.Fail(payouttest.ServerError, 2) // the query: then nothing is known
		wantPayout(t, "the call, and no question", s.Send(ctx, r), pay.PayoutUnknown, "")
	}
}

func TestStatuses(t *testing.T) {
	for word, want := range map[string]struct {
		kind  pay.PayoutKind
		code  string
		words int
	}{
		"PENDING": {pay.PayoutAccepted, "", 0}, "DELIVERED": {pay.PayoutAccepted, "", 0}, "ON_HOLD": {pay.PayoutAccepted, "", 0}, "ON_HOLD_BY_COMPLIANCE": {pay.PayoutAccepted, "", 0},
		"PAID": {pay.PayoutPaid, "", 0}, "CANCELLED": {pay.PayoutRejected, "rejected", 0}, "REJECTED": {pay.PayoutRejected, "rejected", 0},
		"BAD_REQUEST": {pay.PayoutUnknown, "", 0}, "paid": {pay.PayoutUnknown, "", 1}, "RETURNED": {pay.PayoutUnknown, "", 1}, "": {pay.PayoutPaid, "", 0},
	} {
		s, f, line, r := hostile(t)
		s.Send(context.Background(), r)
		f.Must(r.Reference).word = word
		wantPayout(t, word, s.Query(context.Background(), r), want.kind, want.code)
		if words := line.Words(); len(words) != want.words {
			t.Errorf("%s: reported to the operator: %q", word, words)
		}
	}
}

func TestRejectionWithADetailedCodeIsReported(t *testing.T) {
	for fine, words := range map[string]int{"": 0, "300": 0, "301": 1} {
		s, f, line, r := paying(t)
		f.Next(payouttest.Refused)
		f.fine = fine
		wantPayout(t, fine, s.Send(context.Background(), r), pay.PayoutRejected, "rejected")
		if got := line.Words(); len(got) != words {
			t.Errorf("%q: reported to the operator: %q", fine, got)
		}
	}
}

func TestWhatIsPaidIsRead(t *testing.T) {
	for text, want := range map[string]money.Amount{
		`{"amount":5.5,"currency":"BRL"}`: money.New(550, money.BRL), `{"amount":5.5,"currency":"BRL","currency_to_pay":"BRL"}`: money.New(550, money.BRL),
		`{"amount":5.5,"currency":"BRL","amount_details":{"amount_to_pay":5.4}}`:                          money.New(540, money.BRL),
		`{"amount":1,"currency":"USD","currency_to_pay":"BRL","amount_details":{"amount_to_pay":"5.40"}}`: money.New(540, money.BRL),
		`{"amount":1,"currency":"USD","currency_to_pay":"BRL"}`:                                           {}, `{"amount":1}`: {}, `{"amount":-1,"currency":"BRL"}`: {},
		`{"amount":1.005,"currency":"BRL"}`: {}, `{"amount":1,"currency":"BRX"}`: {}, `{"amount":0,"currency":"BRL"}`: {}, `{}`: {},
		`{"amount":5.5,"currency":"BRL","amount_details":{"amount_to_pay":0}}`: {},
	} {
		var p payoutReply
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		if got := p.paid(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// upstream answers with a token, and everything else with a text.
func upstream(status int, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/oauth/token" {
			status, text := http.StatusOK, `{"access_token":"t","token_type":"bearer","expires_in":180}`
			providertest.Says(status, text)(w, r)
			return
		}
		providertest.Says(status, text)(w, r)
	})
}

func TestAnswersOfPayoutsAreNotTrusted(t *testing.T) {
	for _, body := range []string{
		`{"id":"PO-4-1","external_id":"another","status":"PAID","amount":5,"currency":"BRL"}`, `{"external_id":"01M7ZBVYT4","status":"PAID","amount":5,"currency":"BRL"}`,
		`{"id":"PO 4","external_id":"01M7ZBVYT4","status":"PAID","amount":5,"currency":"BRL"}`, `{"id":"PO-4-1","external_id":"01M7ZBVYT4","status":"PAID"}`,
		`{"id":"PO-4-1","external_id":"01M7ZBVYT4","status":"PAID","amount":-5,"currency":"BRL"}`, `{"id":"PO-4-1","external_id":["01M7ZBVYT4"],"status":"REJECTED"}`,
		`{"id":"PO-4-1","status":"REJECTED"}`, `{"status":"CANCELLED"}`, `{"code":5009}`, `[]`, `null`, ``,
	} {
		s, line := payouttest.OpenAccount[*sender](t, PayoutAdapter(), payoutCredentials, upstream(http.StatusOK, body))
		r := samplePayouts()["pix.BRL"]
		r.Reference, r.Calls, r.Sent, r.Now = "01M7ZBVYT4", 1, line.Time(), line.Time().Add(time.Hour)
		wantPayout(t, body, s.Query(context.Background(), r), pay.PayoutUnknown, "")
		wantPayout(t, body, s.Send(context.Background(), r), pay.PayoutUnknown, "")
	}
	for status, want := range map[int]pay.PayoutKind{http.StatusBadRequest: pay.PayoutMissing, http.StatusNotFound: pay.PayoutUnknown, http.StatusBadGateway: pay.PayoutUnknown} {
		s, line := payouttest.OpenAccount[*sender](t, PayoutAdapter(), payoutCredentials, upstream(status, `{"code":5009}`))
		wantPayout(t, http.StatusText(status), s.Query(context.Background(), payouts.Request{Reference: "01M7ZBVYT4", Sent: line.Time(), Now: line.Time().Add(time.Hour)}), want, "")
	}
}

func TestThePurposeIsACode(t *testing.T) {
	for _, purpose := range []string{"digital goods", "digital", "A", "A-B", "DIGITAL_GOODS\n"} {
		with := map[string]string{"clientId": "c", "clientSecret": "s", "purpose": purpose}
		_, err := PayoutAdapter().OpenPayouts(provider.Account{Credentials: with})
		var wrong *provider.FieldError
		if !errors.As(err, &wrong) || wrong.Field != "purpose" {
			t.Errorf("%q: %v", purpose, err)
		}
	}
}
