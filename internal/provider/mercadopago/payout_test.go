package mercadopago

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouts"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func payoutCredentials(country string) map[string]string {
	return map[string]string{accessToken: testToken, countryField: country, signingKey: testSigningKey}
}

// with returns the sample, changed.
func with(change func(*payouts.Request)) payouts.Request {
	r := payouts.Request{
		Type: pay.BankAccount, Currency: string(money.BRL), Local: money.New(12345, money.BRL), Network: "pix", Destination: "52998224725",
		Beneficiary: pay.Beneficiary{Document: "11144477735"},
	}
	change(&r)
	return r
}

func samplePayout() payouts.Request { return with(func(*payouts.Request) {}) }

func to(key, document string, minor int64) payouts.Request {
	return with(func(r *payouts.Request) {
		r.Destination, r.Document, r.Local = key, document, money.New(minor, money.BRL)
	})
}

func TestMercadoPagoPaysOutAsTheCoreNeedsIt(t *testing.T) {
	const one, none = 1, 0
	repeated := map[string]string{"the status page": "first", "the test guide": "taken", "the guide": ""}
	for source, words := range speeches {
		without := map[payouttest.Behaviour]string{
			payouttest.AccountClosed:  "no list of details has it",
			payouttest.OverLimit:      "no list of details has it: by_caps is for the central bank's rules",
			payouttest.InvalidAccount: "invalid_destination_account is in the list of Chile alone",
		}
		t.Run(source, func(t *testing.T) {
			payouttest.Suite{
				Adapter: PayoutAdapter(), Credentials: payoutCredentials("BR"),
				New:     func(*testing.T) payouttest.Fake { return &intentFake{speech: words, repeated: repeated[source]} },
				Payouts: map[string]payouts.Request{pixRail: samplePayout()},
				More: map[string]payouts.Request{
					"to a CPF, smallest amount": to("11144477735", "11144477735", one), "a company": to("11222333000181", "11222333000181", 100), "a telephone": to("+5511999999999", "52998224725", 10),
					"an email address": to("a@example.com", "52998224725", 1000), "a random key": to("c4249323-b4ca-43f2-8139-8232aab09b93", "52998224725", most*100),
				},
				Unsendable: map[string]payouts.Request{
					"nothing": to("52998224725", "52998224725", none), "less than nothing": to("52998224725", "52998224725", -1), "too much": to("52998224725", "52998224725", most*100+1),
					"no Pix key":          to("529982247", "52998224725", 100),
					"a CNPJ with letters": to("12ABC34501DE35", "52998224725", 100), "a holder with letters": to("a@example.com", "12ABC34501DE35", 100), "no tax id": to("52998224725", "", 100), "a strange tax id": to("52998224725", "1234567890", 100),
					"a telephone abroad": to("+14155550100", "52998224725", 100), "a broken random key": to("c4249323-b4ca-43f2-8139-8232aab09bXY", "52998224725", 100),
					"another network": with(func(r *payouts.Request) { r.Network = "ted" }), "pesos over Pix": with(func(r *payouts.Request) { r.Local.Currency = money.MXN }),
				},
				Without:   without,
				Blind:     "there is no search by external_reference",
				ByIDAlone: "GET /v1/transaction-intents/{id} is the one question; what a repetition of a key is answered with is not documented",
			}.Run(t)
		})
	}
}

// No document of Mercado Pago's has a CNPJ with letters.
func TestCNPJWithLettersIsNotPaid(t *testing.T) {
	for source := range speeches {
		p, _, _, r := paying(t, source)
		if err := p.Fits(r); err != nil {
			t.Errorf("the sample: %v", err)
		}
		r.Document = "12ABC34501DE35"
		if err := p.Fits(r); err == nil || !strings.Contains(err.Error(), "letters") {
			t.Errorf("a CNPJ with letters: %v", err)
		}
	}
}

// paying is an account at its own fake, which has the words of a document, and a payout that is sent for the first time.
func paying(t *testing.T, source string) (*payer, *intentFake, *payouttest.Line, payouts.Request) {
	t.Helper()
	f := &intentFake{speech: speeches[source]}
	p, line := payouttest.OpenAccount[*payer](t, PayoutAdapter(), payoutCredentials("BR"), f)
	r := samplePayout()
	r.Reference, r.Calls, r.Sent, r.Now = "01M7ZBVYT4", 1, line.Time(), line.Time()
	t.Cleanup(func() {
		if list := f.Complaints(); len(list) > 0 {
			t.Errorf("undocumented requests: %q", list)
		}
	})
	return p, f, line, r
}

func wantKind(t *testing.T, what string, o pay.PayoutOutcome, kind pay.PayoutKind, code string) {
	t.Helper()
	if o.Kind != kind || o.Code != code {
		t.Errorf("%s: it is %s %q (%s), want %s %q", what, o.Kind, o.Code, o.Message, kind, code)
	}
}

func TestCredentialsOfPayouts(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte(testSigningKey))
	for name, c := range map[string]struct {
		live  bool
		field string // the wrong one
		with  map[string]string
	}{
		"all":                       {true, "", nil},
		"the key in Base64":         {true, "", map[string]string{signingKey: encoded + "\n"}},
		"no key in tests":           {false, "", map[string]string{signingKey: ""}},
		"no key in production":      {true, signingKey, map[string]string{signingKey: ""}},
		"an invalid key":            {false, signingKey, map[string]string{signingKey: "secret"}},
		"a public key":              {false, signingKey, map[string]string{signingKey: providertest.PublicKey()}},
		"a test token":              {true, accessToken, map[string]string{accessToken: "TEST-1"}},
		"an unknown country":        {true, countryField, map[string]string{countryField: "AR"}},
		"a country in small letter": {true, countryField, map[string]string{countryField: "br"}},
		"Chile":                     {true, countryField, map[string]string{countryField: "CL"}},
		"Mexico":                    {false, countryField, map[string]string{countryField: "MX"}},
	} {
		all := payoutCredentials("BR")
		maps.Copy(all, c.with)
		_, err := PayoutAdapter().OpenPayouts(provider.Account{Live: c.live, Credentials: all})
		wrong, _ := errors.AsType[*provider.FieldError](err)
		if (err == nil) != (c.field == "") || wrong != nil && wrong.Field != c.field || wrong != nil && strings.Contains(wrong.Error(), "secret") {
			t.Errorf("%s: %v, want an error of %q", name, err, c.field)
		}
	}
}

// Where Mercado Pago's documents contradict each other, the operator is told so, and no payout is tried.
func TestOnlyBrazilIsPaidOut(t *testing.T) {
	if a := PayoutAdapter(); !slices.Equal(a.Rails, []string{"pix.BRL"}) || len(a.Needs) != 1 {
		t.Errorf("the rails are %v, their needs %v", a.Rails, a.Needs)
	}
	for country, said := range map[string]string{"CL": "Chile", "MX": "Mexico", "AR": "BR"} {
		_, err := PayoutAdapter().OpenPayouts(provider.Account{Credentials: payoutCredentials(country)})
		if err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("%s: %v", country, err)
		}
	}
}

func TestPayoutsAreSignedAsTheEnvironmentWantsIt(t *testing.T) {
	for name, live := range map[string]bool{"production": true, "tests without a key": false} {
		f := &intentFake{speech: speeches["the guide"], live: live}
		line := payouttest.Connect(t, f)
		all := payoutCredentials("BR")
		if !live {
			delete(all, signingKey)
		}
		p, err := PayoutAdapter().OpenPayouts(provider.Account{
			Live: live, BaseURL: line.URL, Credentials: all, NotificationURL: providertest.Notifications, Client: provider.NewClient(),
		})
		if err != nil {
			t.Fatal(err)
		}
		r := samplePayout()
		r.Reference, r.Calls = "01M7ZSIGNED", 1
		wantKind(t, name, p.Send(context.Background(), r), pay.PayoutPaid, "")
		if list := f.Complaints(); len(list) > 0 {
			t.Errorf("%s: %q", name, list)
		}
	}
}

// The answer to a repeated call is not documented: whatever it is, one payout is made, and
// no false result is reported.
func TestARepetitionProvesNoMoreThanItsAnswerShows(t *testing.T) {
	ctx := context.Background()
	for repeated, want := range map[string]pay.PayoutKind{"": pay.PayoutPaid, "first": pay.PayoutAccepted, "locked": pay.PayoutUnknown, "taken": pay.PayoutUnknown} {
		p, f, line, r := paying(t, "the guide")
		f.repeated = repeated
		f.Next(payouttest.Slow)
		line.Fail(payouttest.DropAfter, 1)
		wantKind(t, "the call", p.Send(ctx, r), pay.PayoutUnknown, "")
		f.Complete(r.Reference)
		r.Calls++
		wantKind(t, "again: "+repeated, p.Send(ctx, r), want, "")
		if list := f.Books(); len(list) != 1 || list[0].Times != 1 {
			t.Errorf("%s: %+v", repeated, list)
		}
	}
}

func TestOnlyAFirstCallProvesThatNothingWasDone(t *testing.T) {
	ctx := context.Background()
	for fault, want := range map[payouttest.Fault]pay.PayoutKind{
		payouttest.Unauthorized: pay.PayoutUnavailable, payouttest.Forbidden: pay.PayoutUnavailable, payouttest.RateLimited: pay.PayoutUnavailable,
		payouttest.BadRequest: pay.PayoutUnknown, payouttest.Lost: pay.PayoutUnknown, payouttest.DropBefore: pay.PayoutUnknown, payouttest.ServerError: pay.PayoutUnknown,
	} {
		p, _, line, r := paying(t, "the status page")
		line.Fail(fault, 0)
		if o := p.Send(ctx, r); o.Kind != want {
			t.Errorf("%s: it is %s, want %s", fault, o.Kind, want)
		}
		for _, calls := range []int{0, 2, 3} {
			r.Calls = calls
			wantKind(t, fmt.Sprint(fault, calls), p.Send(ctx, r), pay.PayoutUnknown, "")
		}
	}
	p, _, line, r := paying(t, "the status page")
	line.Close()
	wantKind(t, "nobody is there", p.Send(ctx, r), pay.PayoutUnavailable, "unreachable")
	r.Calls = 2
	wantKind(t, "nobody is there, again", p.Send(ctx, r), pay.PayoutUnknown, "")
	r.Document = ""
	wantKind(t, "what was sent before and is unsendable now", p.Send(ctx, r), pay.PayoutUnknown, "")
}

func TestANotificationTellsTheIDOfALostAnswer(t *testing.T) {
	ctx := context.Background()
	for _, flat := range []bool{false, true} {
		p, f, line, r := paying(t, "the status page")
		f.Next(payouttest.Slow)
		line.Fail(payouttest.DropAfter, 1)
		wantKind(t, "the call", p.Send(ctx, r), pay.PayoutUnknown, "")
		line.Fail(payouttest.NoFault, 0)
		wantKind(t, "the question", p.Query(ctx, r), pay.PayoutUnknown, "")
		n := f.Notify(r.Reference)
		if flat {
			n.Body = fmt.Appendf(nil, `{"id":%q,"external_reference":%q,"status":"new"}`, f.Must(r.Reference).id, r.Reference)
		}
		list, err := p.Notices(ctx, n)
		if err != nil || len(list) != 1 || list[0].Reference != r.Reference || list[0].Outcome.Kind != pay.PayoutAccepted {
			t.Fatalf("flat %t: %+v %v", flat, list, err)
		}
		f.Complete(r.Reference)
		r.ProviderRef = list[0].Outcome.ProviderRef
		wantKind(t, "the question with their id", p.Query(ctx, r), pay.PayoutPaid, "")
		r.Calls++
		line.Fail(payouttest.NoFault, 0)
		wantKind(t, "another call with their id", p.Send(ctx, r), pay.PayoutPaid, "")
		if list := f.Books(); len(list) != 1 || list[0].Times != 1 {
			t.Errorf("%+v", list)
		}
	}
}

func TestTheCheckSaysWhatIsMissing(t *testing.T) {
	p, f, line, _ := paying(t, "the status page")
	f.Next(payouttest.Barred)
	if err := p.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "not enabled") {
		t.Errorf("barred: %v", err)
	}
	line.Fail(payouttest.Lost, 0)
	if err := p.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a gateway's 404: %v", err)
	}
}
