package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// fresh runs a test against a service whose operator has set no rates, with the
// usual terms.
func fresh(t *testing.T, test func(t *testing.T, s *service)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, database string) {
		test(t, startWith(t, database, &clock{}, func(*daemon.Config) {}))
	})
}

const (
	pix10   = `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"1"}`
	noRate  = "503 service_unavailable api_error reason=no_rate"
	oldRate = "503 service_unavailable api_error reason=stale_rate"
)

// charged creates a pix payment of 10 USD and returns "local rate".
func (o shop) charged(t *testing.T) string {
	t.Helper()
	r := o.post(t, "/payments", pix10).want(t, http.StatusCreated)
	return r.text(t, "amountLocal") + " " + r.text(t, "fxRate")
}

func TestProductionTakesNoBuiltInRate(t *testing.T) {
	fresh(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		live := o.live()
		pix, spei := live.method(t, "BRA", "pix"), live.method(t, "MEX", "spei")
		body := func(id string) string { return `{"amount":10,"documentId":"1","paymentMethodId":"` + id + `"}` }
		live.post(t, "/payments", body(pix), "Idempotency-Key: rate").refused(t, noRate)
		live.post(t, "/payments", `{"amount":10,"documentId":"1","paymentMethod":"pix","country":"BR"}`).refused(t, noRate)
		session := `{"amount":54,"currency":"BRL",` + ana + `}`
		live.post(t, "/checkout/sessions", session).refused(t, noRate)
		if n := live.total(t, nil); n != "0" {
			t.Errorf("%s payments were left, want none", n)
		}
		r := live.get(t, "/payment-methods?country=BR&method=pix")
		if r.text(t, "methods.0.minTxUsd") != "<nil>" || r.text(t, "methods.0.maxTxUsd") != "<nil>" || r.text(t, "methods.0.routable") != "false" {
			t.Errorf("want no bounds in USD without a rate: %s", r)
		}
		if got := o.charged(t); got != "54 5.4" {
			t.Errorf("the sandbox charges %s, want 54 5.4 by the built-in rate", got)
		}
		s.rate(t, "BRL 5.5")
		leaves := s.serves(t)
		live.session(t, session)
		leaves()
		// No provider serves production here, but now the payment is converted and told of.
		live.post(t, "/payments", body(pix), "Idempotency-Key: rate").refused(t, "422 cascade_exhausted routing_error reason=no_provider_for_method_region")
		live.post(t, "/payments", body(spei)).refused(t, noRate)
		if n := live.total(t, nil); n != "1" {
			t.Errorf("there are %s payments, want 1", n)
		}
		if r := live.get(t, "/payments"); r.text(t, "data.0.amountLocal") != "55" {
			t.Errorf("want 55 BRL: %s", r)
		}
	})
}

func TestPaymentKeepsItsRateWithTimeAndSource(t *testing.T) {
	fresh(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		at := s.clock.now().Add(-time.Hour)
		set := func(text, source string) {
			t.Helper()
			rate, err := money.ParseRate(text)
			must(t, err)
			_, err = s.App.Rates.SetRates(ctx, []pay.Reading{{Currency: money.BRL, Rate: rate, Source: source, At: at}}, false)
			must(t, err)
		}
		set("5.432198765", "Banco Central")
		first := o.post(t, "/payments", `{"amount":10.01,"paymentMethodId":"sbx_pix","documentId":"1"}`).want(t, http.StatusCreated)
		// 10.01 × 5.432198765 = 54.37630…
		if first.text(t, "amountLocal") != "54.38" || first.text(t, "fxRate") != "5.432198765" {
			t.Errorf("want 54.38 at 5.432198765: %s", first)
		}
		id := first.text(t, "transactionId")
		asked := o.session(t, `{"amount":54.32,"currency":"BRL",`+ana+`}`)
		then := at
		at = at.Add(time.Minute)
		set("6", "the desk")
		if got := o.charged(t); got != "60 6" {
			t.Errorf("the next payment is %s, want 60 6", got)
		}
		o.simulate(t, id, "paid").want(t, http.StatusOK)
		o.simulate(t, id, "refunded").want(t, http.StatusOK)
		r := o.get(t, "/payments/"+id)
		if r.text(t, "amountLocal") != "54.38" || r.text(t, "refundedAmountLocal") != "54.38" {
			t.Errorf("a later rate moved an old payment: %s", r)
		}
		story, err := s.App.Story(ctx, id)
		must(t, err)
		if want := "of Banco Central " + then.UTC().Format("2006-01-02 15:04:05.000"); !strings.Contains(story, want) || strings.Contains(story, "the desk") {
			t.Errorf("want the story to tell %q:\n%s", want, story)
		}
		if strings.Contains(string(r.body), "Banco") || strings.Contains(string(first.body), "Banco") {
			t.Errorf("the merchant is told of the operator's source: %s", r)
		}
		// A session keeps the rate that it was opened at, for a customer who pays what was asked.
		chosen := o.shopper(asked).choose(t, choice("sbx_pix")).want(t, http.StatusCreated).text(t, "transactionId")
		if r := o.get(t, "/payments/"+chosen); r.text(t, "amountLocal") != "54.32" {
			t.Errorf("want 54.32 BRL as the session asked: %s", r)
		}
		if story, err := s.App.Story(ctx, chosen); err != nil || !strings.Contains(story, "at 5.432198765") || !strings.Contains(story, "of Banco Central") {
			t.Errorf("want the session's rate and its source (%v):\n%s", err, story)
		}
		card := o.create(t, card)
		if story, err := s.App.Story(ctx, card); err != nil || strings.Contains(story, "  rate ") {
			t.Errorf("a payment in USD has no rate to tell of (%v):\n%s", err, story)
		}
	})
}

func TestStaleRateIsWarnedOfAndThenStopsNewCharges(t *testing.T) {
	fresh(t, func(t *testing.T, s *service) {
		o, other := s.shop(t), s.shop(t)
		s.rate(t, "BRL 5.4", "MXN 18.35")
		set := s.clock.now()
		body := `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"1"}`
		early := o.post(t, "/payments", body, "Idempotency-Key: early").want(t, http.StatusCreated)
		other.create(t, card)

		// A merchant's test clock is its own; rates are not.
		o.post(t, "/sandbox/clock", `{"advance":"30d"}`).want(t, http.StatusOK)
		if got := o.charged(t); got != "54 5.4" || o.warnings(t) != "" {
			t.Errorf("a moved test clock aged the rate: %s, %q", got, o.warnings(t))
		}

		s.clock.advance(24*time.Hour - time.Minute)
		if w := o.warnings(t); w != "" {
			t.Errorf("the balance warns of %q within a day", w)
		}
		s.clock.advance(2 * time.Minute)
		if w := o.warnings(t); w != "stale_rate 0" {
			t.Errorf("the balance warns of %q, want the stale rate of BRL", w)
		}
		r := o.get(t, "/me/balance")
		since, err := time.Parse(time.RFC3339, r.text(t, "ledgerWarnings.0.since"))
		if d := since.Sub(set.Add(24 * time.Hour)); err != nil || d.Abs() > time.Minute || !strings.Contains(r.text(t, "ledgerWarnings.0.message"), "BRL") {
			t.Errorf("want a warning of BRL since it was a day old: %s", r)
		}
		if w := other.warnings(t) + o.live().warnings(t); w != "" {
			t.Errorf("who never charged in BRL is warned of %q", w)
		}
		o.charged(t) // still taken

		s.clock.advance(6 * 24 * time.Hour)
		total := o.total(t, nil)
		o.post(t, "/payments", body, "Idempotency-Key: late").refused(t, oldRate)
		o.post(t, "/payments", `{"amount":10,"paymentMethodId":"sbx_card","country":"BR"}`).refused(t, oldRate) // a sandbox rail played there
		if n := o.total(t, nil); n != total {
			t.Errorf("refused charges left payments: %s, want %s", n, total)
		}
		// What was taken before goes on: it is told again, paid and refunded.
		same(t, early, o.post(t, "/payments", body, "Idempotency-Key: early"))
		o.post(t, "/payments", pix10[:len(pix10)-1]+`,"userName":"x"}`, "Idempotency-Key: early").refused(t, "409 idempotency_conflict idempotency_error reason=body_differs")
		id := early.text(t, "transactionId")
		o.get(t, "/payments/"+id).want(t, http.StatusOK)
		o.create(t, card)                                        // a dollar is never stale
		o.create(t, `{"amount":10,"paymentMethodId":"sbx_pse"}`) // the built-in rate of COP neither
		methods := o.get(t, "/payment-methods")
		if methods.text(t, "routableCount") != "2" || !strings.Contains(methods.text(t, "methods.0.unroutableReason"), "BRL") {
			t.Errorf("want pix, spei and cash unroutable: %s", methods)
		}

		s.rate(t, "BRL 5.6")
		if got := o.charged(t); got != "56 5.6" || o.warnings(t) != "" {
			t.Errorf("a new rate takes charges at %s, warnings %q", got, o.warnings(t))
		}
		o.post(t, "/payments", body, "Idempotency-Key: late").want(t, http.StatusCreated) // the refusal was not kept
	})
}

func TestRaceOfRatesKeepsAHistoryOfAll(t *testing.T) {
	fresh(t, func(t *testing.T, s *service) {
		const writers = 12
		var all sync.WaitGroup
		at := s.clock.now()
		for i := range writers {
			all.Go(func() {
				rate, err := money.ParseRate(fmt.Sprintf("5.4%02d", i))
				if err != nil {
					t.Error(err)
					return
				}
				for range 20 { // the loser of eight rounds tries again
					_, err = s.App.Rates.SetRates(ctx, []pay.Reading{
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
			must(t, err)
			if len(list) != writers {
				t.Errorf("%s has a history of %d, want %d", c, len(list), writers)
			}
		}
		brl, mxn := s.inUse(t, "BRL"), s.inUse(t, "MXN")
		if brl.Rate != mxn.Rate || brl.Version != writers {
			t.Errorf("two currencies that were always set together differ: %+v, %+v", brl, mxn)
		}
	})
}

// A rate decides what shoppers pay, so the log says who set it. What a feed brings is in the history alone.
func TestOperatorsRatesAreInTheAuditLog(t *testing.T) {
	fresh(t, func(t *testing.T, s *service) {
		set := func(force bool, file string) error {
			_, err := s.App.Rates.ImportRates(ctx, []byte("currency,rate\n"+file), "desk", force)
			return err
		}
		must(t, set(false, "BRL,5.5\nMXN,18.1\n"))
		if err := set(false, "MXN,18.2\nBRL,9.9\n"); err == nil { // it jumps: none is set
			t.Error("a rate that jumps was set")
		}
		must(t, set(true, "BRL,9.9\n"))
		want := []string{
			"system BRL true 5.5 from none of desk, false", "system MXN true 18.1 from none of desk, false",
			"system BRL true 9.9 from 5.5 of desk, true",
		}
		if got := s.ratesLogged(t); !slices.Equal(got, want) {
			t.Errorf("the audit log has %q, want %q", got, want)
		}
	})
}

// ratesLogged is what the audit log has about rates.
func (s *service) ratesLogged(t *testing.T) (told []string) {
	t.Helper()
	list, err := s.App.Audit(ctx, "", "", time.Time{}, 1000)
	must(t, err)
	for _, e := range list {
		if e.Act == audit.RateSet {
			told = append(told, fmt.Sprintf("%s %s %t %s from %s of %s, %s", e.By.Kind, e.Object, e.Live, e.Details["rate"], e.Details["before"], e.Details["source"], e.Details["forced"]))
		}
	}
	return told
}

// inUse reads what the operator sees of a currency.
func (s *service) inUse(t *testing.T, currency money.Currency) (q pay.KnownRate) {
	t.Helper()
	list, err := s.App.Rates.RateList(ctx)
	must(t, err)
	for _, r := range list {
		if r.Currency == currency {
			q = r.KnownRate
		}
	}
	return q
}
