package providers

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// fresh runs a test on each engine, against a service whose operator has set no rates.
func fresh(t *testing.T, test func(t *testing.T, s *harness.Instance)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, database string) {
		test(t, harness.StartWith(t, database, &harness.Clock{}, func(*daemon.Config) {}))
	})
}

const (
	pix10   = `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"1"}`
	noRate  = "503 service_unavailable api_error reason=no_rate"
	oldRate = "503 service_unavailable api_error reason=stale_rate"
)

// charged creates a pix payment of 10 USD and returns "local rate".
func charged(t *testing.T, o harness.Client) string {
	t.Helper()
	r := o.Post(t, "/payments", pix10).Want(t, http.StatusCreated)
	return r.Text(t, "amountLocal") + " " + r.Text(t, "fxRate")
}

func TestProductionTakesNoBuiltInRate(t *testing.T) {
	fresh(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		live := o.Production()
		pix, spei := harness.Method(t, live, "BRA", "pix"), harness.Method(t, live, "MEX", "spei")
		body := func(id string) string { return `{"amount":10,"documentId":"1","paymentMethodId":"` + id + `"}` }
		live.Post(t, "/payments", body(pix), "Idempotency-Key: rate").Refused(t, noRate)
		live.Post(t, "/payments", `{"amount":10,"documentId":"1","paymentMethod":"pix","country":"BR"}`).Refused(t, noRate)
		session := `{"amount":54,"currency":"BRL",` + harness.Ana + `}`
		live.Post(t, "/checkout/sessions", session).Refused(t, noRate)
		if n := live.Total(t, nil); n != "0" {
			t.Errorf("the refused requests made %s payments, want none", n)
		}
		r := live.Get(t, "/payment-methods?country=BR&method=pix")
		if r.Text(t, "methods.0.minTxUsd") != "<nil>" || r.Text(t, "methods.0.maxTxUsd") != "<nil>" || r.Text(t, "methods.0.routable") != "false" {
			t.Errorf("without a rate, want no limits in USD and no routable method: %s", r)
		}
		if got := charged(t, o); got != "54 5.4" {
			t.Errorf("the sandbox charges %s, want 54 5.4: the built-in rate", got)
		}
		s.Rate(t, "BRL 5.5")
		leaves := harness.OpenPixAndSPEI(t, s)
		live.Session(t, session)
		leaves()
		// No provider serves production here, but now the payment is converted and listed.
		live.Post(t, "/payments", body(pix), "Idempotency-Key: rate").Refused(t, "422 cascade_exhausted routing_error reason=no_provider_for_method_region")
		live.Post(t, "/payments", body(spei)).Refused(t, noRate)
		if n := live.Total(t, nil); n != "1" {
			t.Errorf("there are %s payments, want 1", n)
		}
		if r := live.Get(t, "/payments"); r.Text(t, "data.0.amountLocal") != "55" {
			t.Errorf("want a payment of 55 BRL: %s", r)
		}
	})
}

func TestPaymentKeepsItsRateWithTimeAndSource(t *testing.T) {
	fresh(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		at := s.Clock.Now().Add(-time.Hour)
		set := func(text, source string) {
			t.Helper()
			rate, err := money.ParseRate(text)
			harness.Must(t, err)
			_, err = s.App.Rates.SetRates(ctx, s.App.Rates.Self(), []rates.Reading{{Currency: money.BRL, Rate: rate, Source: source, At: at}}, false)
			harness.Must(t, err)
		}
		set("5.432198765", "Banco Central")
		first := o.Post(t, "/payments", `{"amount":10.01,"paymentMethodId":"sbx_pix","documentId":"1"}`).Want(t, http.StatusCreated)
		// 10.01 × 5.432198765 = 54.37630…
		if first.Text(t, "amountLocal") != "54.38" || first.Text(t, "fxRate") != "5.432198765" {
			t.Errorf("want 54.38 at 5.432198765: %s", first)
		}
		id := first.Text(t, "transactionId")
		asked := o.Session(t, `{"amount":54.32,"currency":"BRL",`+harness.Ana+`}`)
		then := at
		at = at.Add(time.Minute)
		set("6", "the desk")
		if got := charged(t, o); got != "60 6" {
			t.Errorf("the next payment is %s, want 60 6", got)
		}
		o.Simulate(t, id, "paid").Want(t, http.StatusOK)
		o.Simulate(t, id, "refunded").Want(t, http.StatusOK)
		r := o.Get(t, "/payments/"+id)
		if r.Text(t, "amountLocal") != "54.38" || r.Text(t, "refundedAmountLocal") != "54.38" {
			t.Errorf("a later rate moved an old payment: %s", r)
		}
		story, err := s.App.Story(ctx, id)
		harness.Must(t, err)
		if want := "of Banco Central " + then.UTC().Format("2006-01-02 15:04:05.000"); !strings.Contains(story, want) || strings.Contains(story, "the desk") {
			t.Errorf("the story does not have %q, or it names the desk:\n%s", want, story)
		}
		if strings.Contains(string(r.Body), "Banco") || strings.Contains(string(first.Body), "Banco") {
			t.Errorf("the merchant sees the operator's source of the rate: %s", r)
		}
		// A session keeps the rate it was opened at, so the customer pays the amount that it showed.
		chosen := o.Shopper(asked).Choose(t, harness.Choice("sbx_pix")).Want(t, http.StatusCreated).Text(t, "transactionId")
		if r := o.Get(t, "/payments/"+chosen); r.Text(t, "amountLocal") != "54.32" {
			t.Errorf("want 54.32 BRL, the amount of the session: %s", r)
		}
		if story, err := s.App.Story(ctx, chosen); err != nil || !strings.Contains(story, "at 5.432198765") || !strings.Contains(story, "of Banco Central") {
			t.Errorf("the story does not have the session's rate and its source (%v):\n%s", err, story)
		}
		card := o.Create(t, harness.Card)
		if story, err := s.App.Story(ctx, card); err != nil || strings.Contains(story, "  rate ") {
			t.Errorf("the story of a payment in USD has a rate (%v):\n%s", err, story)
		}
	})
}

func TestStaleRateIsWarnedOfAndThenStopsNewCharges(t *testing.T) {
	fresh(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)
		s.Rate(t, "BRL 5.4", "MXN 18.35")
		set := s.Clock.Now()
		body := `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"1"}`
		early := o.Post(t, "/payments", body, "Idempotency-Key: early").Want(t, http.StatusCreated)
		other.Create(t, harness.Card)

		// A merchant's test clock does not age the rates, which all merchants share.
		o.Post(t, "/sandbox/clock", `{"advance":"30d"}`).Want(t, http.StatusOK)
		if got := charged(t, o); got != "54 5.4" || harness.Warnings(t, o) != "" {
			t.Errorf("the test clock aged the rate: a payment costs %s, want 54 5.4; the balance warns of %q", got, harness.Warnings(t, o))
		}

		s.Clock.Advance(24*time.Hour - time.Minute)
		if w := harness.Warnings(t, o); w != "" {
			t.Errorf("within a day the balance warns of %q, want no warnings", w)
		}
		s.Clock.Advance(2 * time.Minute)
		if w := harness.Warnings(t, o); w != "stale_rate 0" {
			t.Errorf("the balance warns of %q, want stale_rate 0", w)
		}
		r := o.Get(t, "/me/balance")
		since, err := time.Parse(time.RFC3339, r.Text(t, "ledgerWarnings.0.since"))
		if d := since.Sub(set.Add(24 * time.Hour)); err != nil || d.Abs() > time.Minute || !strings.Contains(r.Text(t, "ledgerWarnings.0.message"), "BRL") {
			t.Errorf("want a warning about BRL since the rate was a day old: %s", r)
		}
		if w := harness.Warnings(t, other) + harness.Warnings(t, o.Production()); w != "" {
			t.Errorf("an environment that never charged in BRL is warned of %q", w)
		}
		charged(t, o) // payments are still accepted

		s.Clock.Advance(6 * 24 * time.Hour)
		total := o.Total(t, nil)
		o.Post(t, "/payments", body, "Idempotency-Key: late").Refused(t, oldRate)
		o.Post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_card","country":"BR"}`).Refused(t, oldRate) // a sandbox rail with Brazil as its country
		if n := o.Total(t, nil); n != total {
			t.Errorf("there are %s payments, want %s: the refused charges make none", n, total)
		}
		// Payments that were accepted before can still be read, and their requests repeated.
		harness.Same(t, early, o.Post(t, "/payments", body, "Idempotency-Key: early"))
		o.Post(t, "/payments", pix10[:len(pix10)-1]+`,"userName":"x"}`, "Idempotency-Key: early").Refused(t, "409 idempotency_conflict idempotency_error reason=body_differs")
		id := early.Text(t, "transactionId")
		o.Get(t, "/payments/"+id).Want(t, http.StatusOK)
		o.Create(t, harness.Card)                                // USD needs no rate
		o.Create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`) // the built-in rate of COP never gets stale
		methods := o.Get(t, "/payment-methods")
		if methods.Text(t, "routableCount") != "2" || !strings.Contains(methods.Text(t, "methods.0.unroutableReason"), "BRL") {
			t.Errorf("want two routable methods, and a reason that names BRL: %s", methods)
		}

		s.Rate(t, "BRL 5.6")
		if got := charged(t, o); got != "56 5.6" || harness.Warnings(t, o) != "" {
			t.Errorf("with a new rate a payment costs %s, want 56 5.6; the balance warns of %q, want no warnings", got, harness.Warnings(t, o))
		}
		o.Post(t, "/payments", body, "Idempotency-Key: late").Want(t, http.StatusCreated) // the key does not repeat the refusal
	})
}

func TestRaceOfRatesKeepsAHistoryOfAll(t *testing.T) {
	fresh(t, func(t *testing.T, s *harness.Instance) {
		const writers = 12
		var all sync.WaitGroup
		at := s.Clock.Now()
		for i := range writers {
			all.Go(func() {
				rate, err := money.ParseRate(fmt.Sprintf("5.4%02d", i))
				if err != nil {
					t.Error(err)
					return
				}
				for range 20 { // SetRates fails after some lost races: then try again
					_, err = s.App.Rates.SetRates(ctx, s.App.Rates.Self(), []rates.Reading{
						{Currency: money.BRL, Rate: rate, Source: "a", At: at}, {Currency: money.MXN, Rate: rate, Source: "a", At: at},
					}, true)
					if err == nil {
						return
					}
				}
				t.Error(err)
			})
		}
		all.Wait()
		for _, c := range []money.Currency{money.BRL, money.MXN} {
			list, err := s.App.Rates.RateHistory(ctx, c)
			harness.Must(t, err)
			if len(list) != writers {
				t.Errorf("the history of %s has %d rates, want %d", c, len(list), writers)
			}
		}
		brl, mxn := harness.RateInUse(t, s, "BRL"), harness.RateInUse(t, s, "MXN")
		if brl.Rate != mxn.Rate || brl.Version != writers {
			t.Errorf("BRL is %+v and MXN is %+v, want equal rates of version %d: they were always set together", brl, mxn, writers)
		}
	})
}

// A rate decides what shoppers pay, so the audit log says who set it. Rates of a feed are only in
// the history.
func TestOperatorsRatesAreInTheAuditLog(t *testing.T) {
	fresh(t, func(t *testing.T, s *harness.Instance) {
		set := func(force bool, file string) error {
			_, err := s.App.Rates.ImportRates(ctx, s.App.Rates.Self(), []byte("currency,rate\n"+file), "desk", force)
			return err
		}
		harness.Must(t, set(false, "BRL,5.5\nMXN,18.1\n"))
		if err := set(false, "MXN,18.2\nBRL,9.9\n"); err == nil { // BRL jumps, so neither rate is set
			t.Error("a rate that jumps was set without force")
		}
		harness.Must(t, set(true, "BRL,9.9\n"))
		want := []string{
			"system BRL true 5.5 from none of desk, false", "system MXN true 18.1 from none of desk, false",
			"system BRL true 9.9 from 5.5 of desk, true",
		}
		if got := ratesLogged(t, s); !slices.Equal(got, want) {
			t.Errorf("the audit log has %q, want %q", got, want)
		}
	})
}

// ratesLogged returns the audit log's entries about rates, one text each.
func ratesLogged(t *testing.T, s *harness.Instance) (told []string) {
	t.Helper()
	list, err := s.App.Audit(ctx, "", "", time.Time{}, 1000)
	harness.Must(t, err)
	for _, e := range list {
		if e.Act == audit.RateSet {
			told = append(told, fmt.Sprintf("%s %s %t %s from %s of %s, %s", e.By.Kind, e.Object, e.Live, e.Details["rate"], e.Details["before"], e.Details["source"], e.Details["forced"]))
		}
	}
	return told
}

// A rail takes no payment whose fees would leave nothing, and its limits say so (PAY-36). A rate at which amounts
// cannot be held is refused even by force (SVC-19).
func TestRailTakesNoPaymentThatItsFeesEatUp(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		adapter := providertest.Plain()
		adapter.Rails = []string{"cash.loterica.BRA", "boleto.BRA"}
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.Adapters = []provider.Adapter{adapter} })
		s.Rate(t, "BRL 5.4")
		live := s.NewShop(t).Production()
		id := harness.Method(t, live, "BRA", "boleto") // 0.65 USD a payment, from 5 BRL on
		cash := live.Get(t, "/payment-methods?country=BR&method=cash")
		if low, usd := cash.Text(t, "methods.0.currencyLimits.0.min"), cash.Text(t, "methods.0.minTxUsd"); low != "4.97" || usd != "0.93" {
			t.Errorf("a rail of 0.90 USD a payment takes from %s BRL, %s USD on; want 4.97 and 0.93", low, usd)
		}
		order := func(brl string) harness.Reply {
			return live.Post(t, "/payments", `{"amount":`+brl+`,"currency":"BRL","documentId":"52998224725","paymentMethodId":"`+cash.Text(t, "methods.0.paymentMethodId")+`"}`)
		}
		order("4.96").Refused(t, "422 amount_out_of_limits invalid_request_error param=amount boundViolated=min")
		order("4.97").Refused(t, "422 cascade_exhausted routing_error reason=no_provider_for_method_region")
		if low := live.Get(t, "/payment-methods?country=BR&method=boleto").Text(t, "methods.0.currencyLimits.0.min"); low != "5" {
			t.Errorf("%s takes from %s BRL on, want 5", id, low)
		}
		rate, err := money.ParseRate("1e17")
		harness.Must(t, err)
		_, err = s.App.Rates.SetRates(ctx, audit.Actor{Kind: audit.ByOperator, ID: "ana"}, []rates.Reading{{Currency: money.BRL, Rate: rate, Source: "operator", At: s.Clock.Now()}}, true)
		if refused, ok := errors.AsType[*problem.Error](err); !ok || refused.Param != "rate" {
			t.Errorf("1e17 by force: %v", err)
		}
	})
}
