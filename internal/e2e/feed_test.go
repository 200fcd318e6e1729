package e2e

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
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		(*p.answer.Load())(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}

// read makes the feed due, and waits until it was asked. What was answered may
// still be on its way into the database.
func (p *publisher) read(t *testing.T, s *service, answer http.HandlerFunc) {
	t.Helper()
	p.answer.Store(&answer)
	asked := p.asked.Load()
	s.clock.advance(time.Hour)
	eventually(t, "the rates were asked for", func() bool {
		must(t, s.App.Rates.ReadFeed(ctx))
		return p.asked.Load() > asked
	})
}

// charges waits until a pix payment of 10 USD costs "local rate".
func (o shop) charges(t *testing.T, want string) {
	t.Helper()
	got := ""
	eventually(t, "a payment is charged "+want, func() bool {
		got = o.charged(t)
		return got == want
	})
}

func TestRatesAreFetched(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		p := publish(t, says(`{"base":"USD","date":"2026-01-02","rates":{"BRL":5.43,"MXN":18.349999999999998,"EUR":0.86,"USD":1,"XXX":3}}`))
		s := startWith(t, database, &clock{}, func(c *daemon.Config) { c.FX.URL = p.URL + "/latest?app_id=hunter2" })
		eventually(t, "the service has read its rates", func() bool { return !s.inUse(t, "MXN").Rate.IsZero() })
		o := s.shop(t)
		q := s.inUse(t, "BRL")
		if q.Rate.Decimal() != "5.43" || q.Source != strings.TrimPrefix(p.URL, "http://") || !q.At.Equal(time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("BRL is %+v, want 5.43 of the whole 2nd of January, from the host alone", q)
		}
		if got := s.inUse(t, "MXN").Rate.Decimal(); got != "18.349999999999998" {
			t.Errorf("MXN is %s, want it digit by digit", got)
		}
		if !s.inUse(t, "EUR").Rate.IsZero() {
			t.Error("a currency that nothing is sold in was kept")
		}

		rates := func(brl, mxn string) http.HandlerFunc {
			return says(fmt.Sprintf(`{"base_code":"USD","time_last_update_unix":%d,"rates":{"BRL":%s,"MXN":%s}}`, s.clock.now().Unix(), brl, mxn))
		}
		p.read(t, s, rates("5.5", "18"))
		o.charges(t, "55 5.5")
		at := s.inUse(t, "BRL").At
		p.read(t, s, rates("5.5", "18")) // the same, read later: as good as new
		eventually(t, "the rate is confirmed", func() bool { return s.inUse(t, "BRL").At.After(at) })
		// The operator's word is newer than what was published before it.
		old := rates("5.51", "18.1")
		s.rate(t, "BRL 5.7")
		p.read(t, s, old)
		eventually(t, "the others are taken", func() bool { return s.inUse(t, "MXN").Rate.Decimal() == "18.1" })
		o.charges(t, "57 5.7")
		p.read(t, s, rates("5.8", "18"))
		o.charges(t, "58 5.8")
	})
}

// What is not a rate, or not believable, changes nothing; the others of the same
// answer count.
func TestBadRatesAreNotApplied(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		p := publish(t, says(`{"base":"USD","rates":{"BRL":5.4,"MXN":18}}`))
		s := startWith(t, database, &clock{}, func(c *daemon.Config) { c.FX.URL = p.URL })
		eventually(t, "the service has read its rates", func() bool { return !s.inUse(t, "MXN").Rate.IsZero() })
		good := s.inUse(t, "BRL")
		round := 0
		// unmoved reads a good rate of MXN after what was bad, and looks at BRL.
		unmoved := func(name, answer string) {
			t.Helper()
			round++
			mxn := fmt.Sprintf("18.%02d1", round)
			p.read(t, s, says(strings.ReplaceAll(answer, "<mxn>", mxn)))
			eventually(t, "the rate of MXN is taken", func() bool { return s.inUse(t, "MXN").Rate.Decimal() == mxn })
			if q := s.inUse(t, "BRL"); q != good {
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
			"500":               respond(http.StatusInternalServerError),
			"204":               respond(http.StatusNoContent),
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
		s := startWith(t, database, &clock{}, func(c *daemon.Config) { c.FX.URL = p.URL })
		eventually(t, "the service has read its rates", func() bool { return !s.inUse(t, "BRL").Rate.IsZero() })
		o := s.shop(t)
		if ars := s.inUse(t, "ARS"); !ars.Rate.IsZero() || ars.Held.Rate.Decimal() != "14350" {
			t.Errorf("ten times the built-in rate was believed: %+v", ars)
		}
		p.read(t, s, says(`{"base":"USD","rates":{"BRL":6.000001}}`))
		eventually(t, "the jump is held", func() bool { return s.inUse(t, "BRL").Held.Rate.Decimal() == "6.000001" })
		o.charges(t, "50 5")
		if _, err := s.App.Rates.ImportRates(ctx, []byte("currency,rate\nMXN,18\nBRL,6.000001\n"), "desk", false); err == nil || !strings.Contains(err.Error(), "BRL 6.000001") {
			t.Errorf("a jump was imported without force: %v", err)
		}
		if !s.inUse(t, "MXN").Rate.IsZero() {
			t.Error("half of a refused file was taken")
		}
		_, err := s.App.Rates.ImportRates(ctx, []byte("currency,rate\nMXN,18\nBRL,6.000001\n"), "desk", true)
		must(t, err)
		o.charges(t, "60 6.000001")
		if q := s.inUse(t, "BRL"); !q.Held.Rate.IsZero() || q.Source != "desk" {
			t.Errorf("BRL is %+v, want nothing held", q)
		}
		p.read(t, s, says(`{"base":"USD","rates":{"BRL":7.2}}`)) // a fifth, exactly
		o.charges(t, "72 7.2")
		if got := s.ratesLogged(t); len(got) != 2 {
			t.Errorf("the audit log has %q, want the two that the operator set", got)
		}
	})
}

func TestOneNodeFetchesAndAllSeeTheRateWithinSeconds(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	p := publish(t, says(`{"base":"USD","rates":{"BRL":5.43}}`))
	c := &clock{}
	node := func() *service { return startWith(t, database, c, func(d *daemon.Config) { d.FX.URL = p.URL }) }
	a, b := node(), node()
	o := a.shop(t)
	there := o
	there.service = b
	see := func(want string) {
		t.Helper()
		eventually(t, "both nodes charge "+want, func() bool { return o.charged(t) == want && there.charged(t) == want })
	}
	see("54.3 5.43")
	if n := p.asked.Load(); n != 1 {
		t.Errorf("two nodes asked %d times in an hour, want once", n)
	}
	a.rate(t, "BRL 5.6") // by one of them, or by the command line
	see("56 5.6")
	answer := says(`{"base":"USD","rates":{"BRL":5.5}}`)
	p.answer.Store(&answer)
	c.advance(time.Hour)
	see("55 5.5")
	if n := p.asked.Load(); n != 2 {
		t.Errorf("two nodes asked %d times in two hours, want twice", n)
	}
	if n := len(mustHistory(t, a)); n != 3 {
		t.Errorf("there are %d readings of BRL, want 3", n)
	}
}

func mustHistory(t *testing.T, s *service) []string {
	t.Helper()
	list, err := s.App.Rates.RateHistory(ctx, "BRL")
	must(t, err)
	var rates []string
	for _, r := range list {
		rates = append(rates, r.Rate.Decimal())
	}
	return rates
}
