package providers

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// publisher is a JSON endpoint of exchange rates.
type publisher struct {
	*httptest.Server
	answer atomic.Pointer[http.HandlerFunc]
	asked  atomic.Int64
}

func publish(t *testing.T, answer http.HandlerFunc) *publisher {
	t.Helper()
	p := &publisher{}
	p.answer.Store(&answer)
	p.Server = providertest.StartServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		(*p.answer.Load())(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

// read makes the feed due and waits until the service has called it. The answer may not be in the
// database yet when read returns.
func (p *publisher) read(t *testing.T, s *harness.Instance, answer http.HandlerFunc) {
	t.Helper()
	p.answer.Store(&answer)
	asked := p.asked.Load()
	s.Clock.Advance(time.Hour)
	harness.Eventually(t, "the service has called the feed", func() bool {
		harness.Must(t, s.App.Rates.ReadFeed(ctx))
		return p.asked.Load() > asked
	})
}

// charges waits until a pix payment of 10 USD costs "local rate".
func charges(t *testing.T, o harness.Client, want string) {
	t.Helper()
	got := ""
	harness.Eventually(t, "a payment costs "+want, func() bool {
		got = charged(t, o)
		return got == want
	})
}

func TestRatesAreFetched(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		p := publish(t, says(`{"base":"USD","date":"2026-01-02","rates":{"BRL":5.43,"MXN":18.349999999999998,"EUR":0.86,"USD":1,"XXX":3}}`))
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.FX.URL = p.URL + "/latest?app_id=hunter2" })
		harness.Eventually(t, "the service has read its rates", func() bool { return !harness.RateInUse(t, s, "MXN").Rate.IsZero() })
		o := s.NewShop(t)
		q := harness.RateInUse(t, s, "BRL")
		if q.Rate.Decimal() != "5.43" || q.Source != strings.TrimPrefix(p.URL, "http://") || !q.At.Equal(time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("BRL is %+v, want 5.43, valid until the end of 2 January, and the feed's host as its source", q)
		}
		if got := harness.RateInUse(t, s, "MXN").Rate.Decimal(); got != "18.349999999999998" {
			t.Errorf("MXN is %s, want 18.349999999999998: every digit is kept", got)
		}
		if !harness.RateInUse(t, s, "EUR").Rate.IsZero() {
			t.Error("the rate of EUR was kept, but no rail uses EUR")
		}

		rates := func(brl, mxn string) http.HandlerFunc {
			return says(fmt.Sprintf(`{"base_code":"USD","time_last_update_unix":%d,"rates":{"BRL":%s,"MXN":%s}}`, s.Clock.Now().Unix(), brl, mxn))
		}
		p.read(t, s, rates("5.5", "18"))
		charges(t, o, "55 5.5")
		at := harness.RateInUse(t, s, "BRL").At
		p.read(t, s, rates("5.5", "18")) // an equal rate that is read later counts as new
		harness.Eventually(t, "the rate is confirmed", func() bool { return harness.RateInUse(t, s, "BRL").At.After(at) })
		// The operator's rate replaces one that was published before it.
		old := rates("5.51", "18.1")
		s.Rate(t, "BRL 5.7")
		p.read(t, s, old)
		harness.Eventually(t, "the rate of MXN is read", func() bool { return harness.RateInUse(t, s, "MXN").Rate.Decimal() == "18.1" })
		charges(t, o, "57 5.7")
		p.read(t, s, rates("5.8", "18"))
		charges(t, o, "58 5.8")
	})
}

// A value that is no rate, or that nobody can believe, changes nothing. The other rates of the
// same answer count.
func TestBadRatesAreNotApplied(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		p := publish(t, says(`{"base":"USD","rates":{"BRL":5.4,"MXN":18}}`))
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.FX.URL = p.URL })
		harness.Eventually(t, "the service has read its rates", func() bool { return !harness.RateInUse(t, s, "MXN").Rate.IsZero() })
		good := harness.RateInUse(t, s, "BRL")
		round := 0
		// unmoved reads an answer with a good rate of MXN, waits for that rate, and fails the test if
		// BRL changed.
		unmoved := func(name, answer string) {
			t.Helper()
			round++
			mxn := fmt.Sprintf("18.%02d1", round)
			p.read(t, s, says(strings.ReplaceAll(answer, "<mxn>", mxn)))
			harness.Eventually(t, "the new rate of MXN is read", func() bool { return harness.RateInUse(t, s, "MXN").Rate.Decimal() == mxn })
			if q := harness.RateInUse(t, s, "BRL"); q != good {
				t.Errorf("%s: BRL is %+v, want %+v", name, q, good)
			}
		}
		huge := `{"base":"USD","rates":{"BRL":5.5,"X":"` + strings.Repeat("x", 1<<20) + `"}}`
		for name, answer := range map[string]http.HandlerFunc{
			"truncated":         says(`{"base":"USD","rates":{"BRL":5.5,"MX`),
			"not JSON":          says(`<html>`),
			"empty":             says(``),
			"two documents":     says(`{"base":"USD","rates":{"BRL":5.5}}{}`),
			"no rates":          says(`{"base":"USD","rates":{}}`),
			"an error":          says(`{"result":"error","error-type":"quota-reached"}`),
			"another base":      says(`{"base":"EUR","rates":{"BRL":5.5}}`),
			"no base":           says(`{"rates":{"BRL":5.5}}`),
			"huge":              says(huge),
			"a date of nowhere": says(`{"base":"USD","date":"yesterday","rates":{"BRL":5.5}}`),
			"a later date":      says(`{"base":"USD","date":"2126-01-01","rates":{"BRL":5.5}}`),
			"a later time":      says(`{"base":"USD","timestamp":99999999999,"rates":{"BRL":5.5}}`),
			"milliseconds":      says(`{"base":"USD","timestamp":1763683200000,"rates":{"BRL":5.5}}`),
			"500":               harness.Respond(http.StatusInternalServerError),
			"204":               harness.Respond(http.StatusNoContent),
			"hangs up": func(http.ResponseWriter, *http.Request) {
				panic(http.ErrAbortHandler)
			},
			"cut off": func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Length", "100")
				_, _ = w.Write([]byte(`{"base":"USD","rates":{"BRL":5.5}}`))
			},
		} {
			p.read(t, s, answer)
			unmoved(name, `{"base":"USD","rates":{"MXN":<mxn>}}`)
		}
		for _, bad := range []string{`0`, `-5.4`, `"5.4"`, `null`, `1e400`, `{}`, `[5.4]`, `0.0000000000000000001`, `1234567890123456789`, `true`} {
			unmoved(bad, `{"base":"USD","rates":{"BRL":`+bad+`,"MXN":<mxn>}}`)
		}
	})
}

func TestJumpOfARateWaitsForTheOperator(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		p := publish(t, says(`{"base":"USD","rates":{"BRL":5,"ARS":14350}}`))
		s := harness.StartWith(t, database, &harness.Clock{}, func(c *daemon.Config) { c.FX.URL = p.URL })
		harness.Eventually(t, "the service has read its rates", func() bool { return !harness.RateInUse(t, s, "BRL").Rate.IsZero() })
		o := s.NewShop(t)
		if ars := harness.RateInUse(t, s, "ARS"); !ars.Rate.IsZero() || ars.Held.Rate.Decimal() != "14350" {
			t.Errorf("ARS is %+v, want ten times the built-in rate held for the operator", ars)
		}
		p.read(t, s, says(`{"base":"USD","rates":{"BRL":6.000001}}`))
		harness.Eventually(t, "the jump is held", func() bool { return harness.RateInUse(t, s, "BRL").Held.Rate.Decimal() == "6.000001" })
		charges(t, o, "50 5")
		if _, err := s.App.Rates.ImportRates(ctx, s.App.Rates.Self(), []byte("currency,rate\nMXN,18\nBRL,6.000001\n"), "desk", false); err == nil || !strings.Contains(message.Sentence(err), "BRL 6.000001") {
			t.Errorf("importing a jump without force: %v, want an error that names it", err)
		}
		if !harness.RateInUse(t, s, "MXN").Rate.IsZero() {
			t.Error("a rate of a refused file was set")
		}
		_, err := s.App.Rates.ImportRates(ctx, s.App.Rates.Self(), []byte("currency,rate\nMXN,18\nBRL,6.000001\n"), "desk", true)
		harness.Must(t, err)
		charges(t, o, "60.01 6.000001")
		if q := harness.RateInUse(t, s, "BRL"); !q.Held.Rate.IsZero() || q.Source != "desk" {
			t.Errorf("BRL is %+v, want nothing held", q)
		}
		p.read(t, s, says(`{"base":"USD","rates":{"BRL":7.2}}`)) // a change of exactly a fifth is no jump
		charges(t, o, "72 7.2")
		if got := ratesLogged(t, s); len(got) != 2 {
			t.Errorf("the audit log has the rates %q, want the two that the operator set", got)
		}
	})
}

func TestOneNodeFetchesAndAllSeeTheRateWithinSeconds(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	p := publish(t, says(`{"base":"USD","rates":{"BRL":5.43}}`))
	c := &harness.Clock{}
	node := func() *harness.Instance {
		return harness.StartWith(t, database, c, func(d *daemon.Config) { d.FX.URL = p.URL })
	}
	a, b := node(), node()
	o := a.NewShop(t)
	there := o
	there.Instance = b
	see := func(want string) {
		t.Helper()
		harness.Eventually(t, "both nodes charge "+want, func() bool { return charged(t, o) == want && charged(t, there) == want })
	}
	see("54.3 5.43")
	if n := p.asked.Load(); n != 1 {
		t.Errorf("two nodes called the feed %d times in an hour, want once", n)
	}
	a.Rate(t, "BRL 5.6") // set at one node, or by the command line
	see("56 5.6")
	answer := says(`{"base":"USD","rates":{"BRL":5.5}}`)
	p.answer.Store(&answer)
	c.Advance(time.Hour)
	see("55 5.5")
	if n := p.asked.Load(); n != 2 {
		t.Errorf("two nodes called the feed %d times in two hours, want twice", n)
	}
	if n := len(mustHistory(t, a)); n != 3 {
		t.Errorf("the history of BRL has %d rates, want 3", n)
	}
}

func mustHistory(t *testing.T, s *harness.Instance) []string {
	t.Helper()
	list, err := s.App.Rates.RateHistory(ctx, "BRL")
	harness.Must(t, err)
	var rates []string
	for _, r := range list {
		rates = append(rates, r.Rate.Decimal())
	}
	return rates
}
