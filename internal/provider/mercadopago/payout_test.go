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
	"github.com/cascadapay/cascada/internal/payout"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/payouttest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

func payoutCredentials(country string) map[string]string {
	return map[string]string{accessToken: testToken, countryField: country, signingKey: testSigningKey}
}

// samplePayouts has a payout for each country.
var samplePayouts = map[string]payout.Request{
	"BR": {Local: money.New(12345, money.BRL), Network: "pix", Destination: "52998224725", Beneficiary: pay.Beneficiary{Document: "11144477735"}},
	"CL": {Local: money.New(12345, money.CLP), Network: "account", Destination: "10266732", Beneficiary: pay.Beneficiary{Document: "123456785", Bank: "012", Country: "CHL"}},
	"MX": {Local: money.New(12340, money.MXN), Network: "spei", Destination: "646180110400000007", Beneficiary: pay.Beneficiary{Name: "Ana Gómez"}},
}

// with returns the sample of a country, changed.
func with(country string, change func(*payout.Request)) payout.Request {
	r := samplePayouts[country]
	r.Type, r.Currency = pay.BankAccount, string(r.Local.Currency)
	change(&r)
	return r
}

func samplePayout(country string) payout.Request { return with(country, func(*payout.Request) {}) }

func to(key, document string, minor int64) payout.Request {
	return with("BR", func(r *payout.Request) {
		r.Destination, r.Document, r.Local = key, document, money.New(minor, money.BRL)
	})
}

// inCountry returns the adapter with an account in a country.
func inCountry(country string) provider.Adapter {
	a := PayoutAdapter()
	a.Rails = slices.DeleteFunc(a.Rails, func(rail string) bool { return payoutRails[rail].country != country })
	maps.DeleteFunc(a.Needs, func(rail string, _ []pay.HolderField) bool { return payoutRails[rail].country != country })
	return a
}

func TestMercadoPagoPaysOutAsTheCoreNeedsIt(t *testing.T) {
	const one, none = 1, 0
	more := map[string]map[string]payout.Request{
		"BR": {
			"to a CPF, smallest amount": to("11144477735", "11144477735", one), "a company": to("11222333000181", "11222333000181", 100), "a telephone": to("+5511999999999", "52998224725", 10),
			"an email address": to("a@example.com", "52998224725", 1000), "a random key": to("c4249323-b4ca-43f2-8139-8232aab09b93", "52998224725", most*100),
		},
		"CL": {
			"a short tax id, with K": with("CL", func(r *payout.Request) { r.Document, r.Country, r.AccountType = "1234567K", "", "checking" }),
			"one peso":               with("CL", func(r *payout.Request) { r.Local.Minor = one }),
			"the most":               with("CL", func(r *payout.Request) { r.Local.Minor = most }),
		},
		"MX": {"a centavo": with("MX", func(r *payout.Request) { r.Local.Minor = one }), "the most": with("MX", func(r *payout.Request) { r.Local.Minor = most * 100 })},
	}
	unsendable := map[string]map[string]payout.Request{
		"BR": {
			"nothing": to("52998224725", "52998224725", none), "too much": to("52998224725", "52998224725", most*100+1), "no Pix key": to("529982247", "52998224725", 100),
			"no tax id": to("52998224725", "", 100), "a strange tax id": to("52998224725", "1234567890", 100), "a telephone abroad": to("+14155550100", "52998224725", 100),
			"a broken random key": to("c4249323-b4ca-43f2-8139-8232aab09bXY", "52998224725", 100), "another country": samplePayout("CL"),
			"pesos over Pix": with("BR", func(r *payout.Request) { r.Local.Currency = money.MXN }),
		},
		"CL": {
			"less than nothing": with("CL", func(r *payout.Request) { r.Local.Minor = -1 }), "too much": with("CL", func(r *payout.Request) { r.Local.Minor = most + 1 }),
			"no bank": with("CL", func(r *payout.Request) { r.Bank = "" }), "a bank in letters": with("CL", func(r *payout.Request) { r.Bank = "BCHICLRM" }),
			"no tax id": with("CL", func(r *payout.Request) { r.Document = "" }), "a long tax id": with("CL", func(r *payout.Request) { r.Document = "1234567890" }),
			"letters": with("CL", func(r *payout.Request) { r.Destination = "AB12345" }), "savings": with("CL", func(r *payout.Request) { r.AccountType = "savings" }),
			"a bank abroad": with("CL", func(r *payout.Request) { r.Country = "PER" }), "another country": samplePayout("BR"),
		},
		"MX": {
			"no name": with("MX", func(r *payout.Request) { r.Name = "" }), "no CLABE": with("MX", func(r *payout.Request) { r.Destination = "64618011040000000" }),
			"dollars": with("MX", func(r *payout.Request) { r.Local.Currency = money.USD }), "another country": samplePayout("BR"),
		},
	}
	repeated := map[string]string{"BR": "first", "CL": "taken", "MX": ""}
	var rails []string
	for country := range samplePayouts {
		adapter := inCountry(country)
		without := map[payouttest.Behaviour]string{
			payouttest.AccountClosed: "no list of details has it",
			payouttest.OverLimit:     "no list of details has it: by_caps is for the central bank's rules",
		}
		if country != "CL" {
			without[payouttest.InvalidAccount] = "invalid_destination_account is in the list of Chile alone"
		}
		t.Run(country, func(t *testing.T) {
			payouttest.Suite{
				Adapter: adapter, Credentials: payoutCredentials(country),
				New:        func(*testing.T) payouttest.Fake { return &intentFake{country: country, repeated: repeated[country]} },
				Payouts:    map[string]payout.Request{adapter.Rails[0]: samplePayout(country)},
				More:       more[country],
				Unsendable: unsendable[country],
				Without:    without,
				Blind:      "there is no search by external_reference",
				ByIDAlone:  "GET /v1/transaction-intents/{id} is the one question; what a repetition of a key is answered with is not documented",
			}.Run(t)
		})
		rails = append(rails, adapter.Rails...)
	}
	if all := PayoutAdapter().Rails; len(all) != len(rails) || all[0] != "pix.BRL" {
		t.Errorf("the rails are %v, and %v are simulated", all, rails)
	}
}

// paying is an account at its own fake, and a payout that is sent for the first time.
func paying(t *testing.T, country string) (*payer, *intentFake, *payouttest.Line, payout.Request) {
	t.Helper()
	f := &intentFake{country: country}
	p, line := payouttest.OpenAccount[*payer](t, PayoutAdapter(), payoutCredentials(country), f)
	r := samplePayout(country)
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

func TestPayoutsAreSignedAsTheEnvironmentWantsIt(t *testing.T) {
	for name, live := range map[string]bool{"production": true, "tests without a key": false} {
		f := &intentFake{country: "BR", live: live}
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
		r := samplePayout("BR")
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
	for repeated, want := range map[string]pay.PayoutKind{"": pay.PayoutPaid, "first": pay.PayoutAccepted, "conflict": pay.PayoutUnknown, "taken": pay.PayoutUnknown} {
		p, f, line, r := paying(t, "MX")
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
		p, _, line, r := paying(t, "BR")
		line.Fail(fault, 0)
		if o := p.Send(ctx, r); o.Kind != want {
			t.Errorf("%s: it is %s, want %s", fault, o.Kind, want)
		}
		for _, calls := range []int{0, 2, 3} {
			r.Calls = calls
			wantKind(t, fmt.Sprint(fault, calls), p.Send(ctx, r), pay.PayoutUnknown, "")
		}
	}
	p, _, line, r := paying(t, "BR")
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
		p, f, line, r := paying(t, "BR")
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
	p, f, line, _ := paying(t, "BR")
	f.Next(payouttest.Barred)
	if err := p.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "not enabled") {
		t.Errorf("barred: %v", err)
	}
	line.Fail(payouttest.Lost, 0)
	if err := p.Check(context.Background()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("a gateway's 404: %v", err)
	}
}
