package woovi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
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

const testCPF = "52998224725"

func samplePayout() payouts.Request {
	return payouts.Request{
		Amount: money.New(2600, money.USD), Net: money.New(2500, money.USD), Local: money.New(12345, money.BRL),
		Type: pay.BankAccount, Network: "pix", Currency: "BRL", Destination: testCPF,
	}
}

// to returns the sample with another Pix key, and with another amount.
func to(key string, centavos int64) payouts.Request {
	r := samplePayout()
	r.Destination, r.Local = key, money.New(centavos, money.BRL)
	return r
}

func TestWooviPaysOutAsTheCoreNeedsIt(t *testing.T) {
	dollars := samplePayout()
	dollars.Local = money.New(100, money.USD)
	abroad := samplePayout()
	abroad.Network = "spei"
	payouttest.Suite{
		Adapter: PayoutAdapter(), Credentials: credentials(),
		New:     func(*testing.T) payouttest.Fake { return &payoutFake{} },
		Payouts: map[string]payouts.Request{"pix.BRL": samplePayout()},
		More: map[string]payouts.Request{
			"a company": to("11222333000181", 100), "a telephone": to("+5511999999999", 1), "a telephone without mobile": to("+551133334444", 5),
			"an email address": to("a@example.com", 10), "a random key": to("c4249323-b4ca-43f2-8139-8232aab09b93", 100_000_000),
		},
		Unsendable: map[string]payouts.Request{
			"no Pix key": to("529982247", 100), "a CNPJ with letters": to("12ABC34501DE35", 100), "nothing": to(testCPF, 0), "less than nothing": to(testCPF, -1), "more than a number holds": to(testCPF, largest+1),
			"dollars": dollars, "another network": abroad,
		},
		Settles:        settles,
		ReturnsUnasked: "a confirmed payment never changes (docs/payment/payment-state-machine.md)",
	}.Run(t)
}

// No page of Woovi's has a CNPJ with letters.
func TestCNPJWithLettersIsNotPaid(t *testing.T) {
	p, _, _, r := paying(t, credentials())
	if err := p.Fits(r); err != nil {
		t.Errorf("a CPF: %v", err)
	}
	r.Destination = "12ABC34501DE35"
	if err := p.Fits(r); err == nil || !strings.Contains(err.Error(), "letters") {
		t.Errorf("a CNPJ with letters: %v", err)
	}
}

// paying is an account at its own fake, and a payout.
func paying(t *testing.T, with map[string]string) (*payer, *payoutFake, *payouttest.Line, payouts.Request) {
	t.Helper()
	f := &payoutFake{}
	p, line := payouttest.OpenAccount[*payer](t, PayoutAdapter(), with, f)
	r := samplePayout()
	r.Reference, r.Sent, r.Now = "01M7ZBVYT4", line.Time(), line.Time()
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
	r.Now = line.Time()
	return r
}

func wantKind(t *testing.T, what string, o pay.PayoutOutcome, kind pay.PayoutKind, code string) {
	t.Helper()
	if o.Kind != kind || o.Code != code {
		t.Errorf("%s: it is %s %q (%s), want %s %q", what, o.Kind, o.Code, o.Message, kind, code)
	}
}

func TestAPayoutWithoutBalanceIsApprovedWhenItIsSentAgain(t *testing.T) {
	p, f, line, r := paying(t, credentials())
	ctx := context.Background()
	f.Next(payouttest.NoFloat)
	wantKind(t, "the call", p.Send(ctx, r), pay.PayoutAccepted, "insufficient_funds")
	f.Next(payouttest.Pays)
	wantKind(t, "the question", p.Query(ctx, later(line, r, time.Hour)), pay.PayoutUnsent, "")
	if f.Books()[0].Times != 0 {
		t.Fatalf("a query approved it: %+v", f.Books())
	}
	wantKind(t, "the next call", p.Send(ctx, r), pay.PayoutAccepted, "")
	wantKind(t, "the next question", p.Query(ctx, r), pay.PayoutPaid, "")
}

// A person may use our reference in Woovi's panel.
func TestOnlyWhatWasOrderedIsApproved(t *testing.T) {
	for name, c := range map[string]struct {
		ours, key, kind string
		value           int64
		paid            bool
	}{
		"ours": {testCPF, testCPF, "CPF", 12345, true}, "ours, written otherwise": {testCPF, "529.982.247-25", "", 12345, true},
		"to an unknown recipient": {testCPF, "", "", 12345, true}, "another amount": {testCPF, testCPF, "CPF", 12346, false},
		"another person": {testCPF, "11144477735", "CPF", 12345, false}, "another kind of key": {testCPF, "a@example.com", "", 12345, false},
		"a telephone in another format": {"+5511999999999", "11 99999-9999", "PHONE", 12345, true},
		"a CPF of a telephone's digits": {"+5511999999999", "11999999999", "CPF", 12345, false},
		"mail in capitals":              {"a@example.com", "A@example.com", "EMAIL", 12345, true}, "other mail": {"a@example.com", "b@example.com", "EMAIL", 12345, false},
	} {
		p, f, line, r := paying(t, credentials())
		r.Destination = c.ours
		f.Enter(&fakePayment{aliasType: c.kind, Entry: payouttest.Entry{Reference: r.Reference, Destination: c.key, Asked: money.New(c.value, money.BRL)}})
		o := p.Send(context.Background(), r)
		if paid := f.Books()[0].Times == 1; paid != c.paid || !paid && o.Kind != pay.PayoutUnknown {
			t.Errorf("%s: paid %t, %+v", name, paid, o)
		}
		o = p.Query(context.Background(), later(line, r, time.Hour))
		if paid := f.Books()[0].Times == 1; paid != c.paid || !paid && o.Kind != pay.PayoutUnknown {
			t.Errorf("%s: asked, paid %t, %+v", name, paid, o)
		}
	}
}

func TestARemovedPayoutIsRefusedOnOurWebhooksWord(t *testing.T) {
	ctx := context.Background()
	for name, with := range map[string]map[string]string{
		"our webhook": credentials(), "anybody's webhook": {"appId": testAppID, "publicKey": providertest.PublicKey()},
	} {
		p, f, line, r := paying(t, with)
		f.Next(payouttest.NoFloat)
		r.ProviderRef = p.Send(ctx, r).ProviderRef
		asked := f.Must(r.Reference)
		asked.removed = true
		removed := f.Notify(r.Reference)
		asked.removed = false
		if list, err := p.Notices(ctx, removed); len(list) != 0 || err != nil {
			t.Errorf("%s: it still exists, and the notification says %+v %v", name, list, err)
		}
		asked.removed = true
		list, err := p.Notices(ctx, removed)
		if err != nil || (len(list) == 1) != (name == "our webhook") {
			t.Fatalf("%s: %+v %v", name, list, err)
		}
		if len(list) == 1 {
			wantKind(t, name, list[0].Outcome, pay.PayoutRejected, "rejected")
		}
		// A query proves nothing: its answer about a removed payment is not documented.
		f.Next(payouttest.Pays)
		wantKind(t, "the question", p.Query(ctx, later(line, r, time.Hour)), pay.PayoutUnknown, "")
	}
}

func TestAPayoutIsLookedForAmongMany(t *testing.T) {
	for crowd, want := range map[int]pay.PayoutKind{0: pay.PayoutMissing, 100: pay.PayoutMissing, 999: pay.PayoutMissing, 2500: pay.PayoutMissing, 9000: pay.PayoutUnknown} {
		p, f, line, r := paying(t, credentials())
		f.crowd = crowd
		r = later(line, r, settles)
		wantKind(t, fmt.Sprint(crowd), p.Query(context.Background(), r), want, "")
		if f.lists > mostPages {
			t.Errorf("%d payments: %d lists were requested", crowd, f.lists)
		}
		if want == pay.PayoutMissing { // and it is found there, if nothing else reports it
			f.Enter(&fakePayment{approved: true, Entry: payouttest.Entry{Reference: r.Reference, Destination: testCPF, Asked: r.Local}})
			line.Fail(payouttest.Lost, 1)
			wantKind(t, fmt.Sprint(crowd), p.Query(context.Background(), r), pay.PayoutAccepted, "")
		}
	}
}

func TestFailuresInOurWords(t *testing.T) {
	ctx := context.Background()
	for word, want := range map[string]pay.PayoutOutcome{
		"INVALID_PIX_KEY": {Kind: pay.PayoutRejected, Code: "invalid_account"}, "PIX_KEY_INFO_NOT_FOUND": {Kind: pay.PayoutRejected, Code: "invalid_account"},
		"AC07": {Kind: pay.PayoutRejected, Code: "account_closed"}, "BE01": {Kind: pay.PayoutRejected, Code: "invalid_account"},
		"ENTRY_ASSOCIATED_WITH_RESTRICTED_ACCOUNT_OR_USER": {Kind: pay.PayoutRejected, Code: "compliance_rejected"},
		"NOT_ENOUGH_BALANCE":   {Kind: pay.PayoutUnavailable, Code: "insufficient_funds"},
		"REACH_TRANSFER_LIMIT": {Kind: pay.PayoutUnavailable, Code: "limit_exceeded"}, "PIX_OUT_NOT_AUTHORIZED": {Kind: pay.PayoutUnavailable, Code: "not_permitted"},
		"AB03": {Kind: pay.PayoutUnavailable, Code: "provider_error"}, "PAY_PIX_KEY_ERROR": {Kind: pay.PayoutRejected, Code: "rejected"},
		"ZZ99": {Kind: pay.PayoutRejected, Code: "rejected"}, "Dan da Silva, CPF inválido": {Kind: pay.PayoutRejected, Code: "rejected"},
	} {
		for _, how := range []string{"answers", "events", "texts"} {
			p, f, line, r := paying(t, credentials())
			mute := how != "answers"
			f.text = how == "texts"
			f.Next(payouttest.Slow)
			p.Send(ctx, r)
			f.Fail(r.Reference, payouttest.Refused)
			f.Must(r.Reference).word, f.mute = word, mute
			if !mute {
				wantKind(t, word, p.Query(ctx, r), want.Kind, want.Code)
			}
			list, err := p.Notices(ctx, f.Notify(r.Reference))
			if err != nil || len(list) != 1 {
				t.Fatalf("%s: %+v %v", word, list, err)
			}
			wantKind(t, word, list[0].Outcome, want.Kind, want.Code)
			_, known := reasons[word]
			if words := line.Words(); (len(words) > 0) == known || strings.Contains(fmt.Sprint(words), "Dan") {
				t.Errorf("%s: reported to the operator: %q", word, words)
			}
		}
	}
}

func TestAStatusThatIsNamedAndNotExplainedNeedsAReason(t *testing.T) {
	for status, want := range map[string]pay.PayoutKind{"DENIED": pay.PayoutUnknown, "REJECTED": pay.PayoutUnknown, "PROCESSING": pay.PayoutAccepted} {
		p, f, line, r := paying(t, credentials())
		f.Next(payouttest.Slow)
		p.Send(context.Background(), r)
		f.Must(r.Reference).word = status
		wantKind(t, status, p.Query(context.Background(), r), want, "")
		if words := line.Words(); len(words) > 0 {
			t.Errorf("%s: known statuses are reported as unknown: %q", status, words)
		}
	}
	denied := `{"payment":{"correlationID":"01M7ZBVYT4","status":"DENIED","value":12345},"transaction":{"providerRejectedReason":"AC07 - Conta encerrada"}}`
	p, _ := payouttest.OpenAccount[*payer](t, PayoutAdapter(), credentials(), providertest.Says(http.StatusOK, denied))
	r := samplePayout()
	r.Reference = "01M7ZBVYT4"
	wantKind(t, "with a reason", p.Query(context.Background(), r), pay.PayoutRejected, "account_closed")
}

func TestAPartOfAPayoutComesBack(t *testing.T) {
	ctx := context.Background()
	p, f, _, r := paying(t, credentials())
	p.Send(ctx, r)
	f.Return(r.Reference, payouttest.AccountClosed)
	f.Must(r.Reference).Asked.Minor = 345 // this is what came back
	list, err := p.Notices(ctx, f.Notify(r.Reference))
	if err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.PayoutReturned || list[0].Outcome.Local != money.New(345, money.BRL) || !strings.Contains(list[0].Outcome.Message, "a part") {
		t.Errorf("%+v %v", list, err)
	}
}

// A return that the account does not list yet is told again later, if the account has the payment that it returns.
func TestAReturnThatIsNotListedYet(t *testing.T) {
	ctx := context.Background()
	p, f, _, r := paying(t, credentials())
	p.Send(ctx, r)
	f.Return(r.Reference, payouttest.AccountClosed)
	n := f.Notify(r.Reference)
	f.Must(r.Reference).Stage = payouttest.Done
	if list, err := p.Notices(ctx, n); len(list) != 0 || !errors.Is(err, provider.ErrUnreachable) {
		t.Errorf("not listed yet: %+v %v", list, err)
	}
	f.Must(r.Reference).Stage = payouttest.Returned
	if list, err := p.Notices(ctx, n); err != nil || len(list) != 1 || list[0].Outcome.Kind != pay.PayoutReturned {
		t.Errorf("listed: %+v %v", list, err)
	}
}

func TestAPayoutThatIsNotTaken(t *testing.T) {
	for says, want := range map[string]pay.PayoutOutcome{
		"Chave Pix inválida": {Kind: pay.PayoutRejected, Code: "invalid_account"}, "Pix key not found": {Kind: pay.PayoutRejected, Code: "invalid_account"},
		"Limite de consultas chave pix excedido": {Kind: pay.PayoutUnavailable, Code: "refused"}, "Ocorreu um erro": {Kind: pay.PayoutUnavailable, Code: "refused"},
		"A chave Pix não existe ou é inválida": {Kind: pay.PayoutRejected, Code: "invalid_account"},
		"Já existe um pagamento":               {Kind: pay.PayoutUnknown},
	} {
		p, f, line, r := paying(t, credentials())
		f.says = says
		wantKind(t, says, p.Send(context.Background(), r), want.Kind, want.Code)
		line.Fail(payouttest.ServerError, 3) // the list: then nothing is proved
		wantKind(t, says+", and no list", p.Send(context.Background(), r), pay.PayoutUnknown, "")
	}
}

func TestTheBalanceIsTheDefaultAccounts(t *testing.T) {
	p, _, line, _ := paying(t, credentials())
	if left, err := p.Balance(context.Background()); err != nil || left != money.New(129400, money.BRL) {
		t.Errorf("%s %v", left, err)
	}
	line.Fail(payouttest.Forbidden, 2)
	if err := p.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "PAYMENT_GET_LIST") {
		t.Errorf("%v, want the scope named", err)
	}
	for _, body := range []string{`{}`, `{"accounts":[]}`, `{"accounts":[{"isDefault":true}]}`, `{"accounts":[{"isDefault":true,"balance":{"available":"x"}}]}`} {
		p, _ := payouttest.OpenAccount[*payer](t, PayoutAdapter(), credentials(), providertest.Says(http.StatusOK, body))
		if left, err := p.Balance(context.Background()); err == nil {
			t.Errorf("%s: %s, want an error", body, left)
		}
	}
}

func TestAnswersOfPayoutsAreNotTrusted(t *testing.T) {
	for _, body := range []string{
		`{"payment":{"correlationID":"another","status":"CONFIRMED","value":12345}}`,
		`{"payment":{"correlationID":"01M7ZBVYT4","status":"CONFIRMED"}}`,
		`{"payment":{"correlationID":"01M7ZBVYT4","status":"CONFIRMED","value":-5}}`,
		`{"payment":{"correlationID":"01M7ZBVYT4","status":"CONFIRMED","value":12.5}}`,
		`{"payment":{"correlationID":["01M7ZBVYT4"],"status":"CONFIRMED","value":12345}}`,
		`{"payment":{"status":"FAILED"}}`, `{"payments":[]}`, `[]`, `null`, ``,
	} {
		p, _ := payouttest.OpenAccount[*payer](t, PayoutAdapter(), credentials(), providertest.Says(http.StatusOK, body))
		r := samplePayout()
		r.Reference, r.Sent, r.Now = "01M7ZBVYT4", providertest.Noon, providertest.Noon.Add(time.Hour)
		wantKind(t, body, p.Query(context.Background(), r), pay.PayoutUnknown, "")
		wantKind(t, body, p.Send(context.Background(), r), pay.PayoutUnknown, "")
	}
}
