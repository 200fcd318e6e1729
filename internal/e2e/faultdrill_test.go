package e2e

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/onboarding"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/reconcile"
)

// fault is how a provider misbehaves: next does what was asked for.
type fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// line stands before an upstream and misbehaves as it is told.
type line struct {
	*providertest.Upstream
	fault   atomic.Pointer[fault]
	charges atomic.Int64 // that were asked for
	asked   atomic.Int64 // questions about charges
}

func (l *line) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && r.URL.Path == "/charges" {
		l.charges.Add(1)
	}
	if r.Method == http.MethodGet {
		l.asked.Add(1)
	}
	if f := l.fault.Load(); f != nil {
		(*f)(w, r, l.Upstream)
		return
	}
	l.Upstream.ServeHTTP(w, r)
}

// fails lets the upstream misbehave; nil ends it.
func (l *line) fails(f fault) {
	if f == nil {
		l.fault.Store(nil)
		return
	}
	l.fault.Store(&f)
}

func refuses(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	http.Error(w, `{"error":"too busy"}`, http.StatusTooManyRequests)
}

func cutsBefore(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

func cutsAfter(_ http.ResponseWriter, r *http.Request, next http.Handler) {
	next.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

func gateway(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
	http.Error(w, "<html>Bad Gateway</html>", http.StatusBadGateway)
}

// oneOf misbehaves in one of several ways.
func oneOf(faults ...fault) fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		faults[rand.IntN(len(faults))](w, r, next)
	}
}

// nonsense answers what was done, or was not, with what cannot be an answer.
func nonsense(w http.ResponseWriter, r *http.Request, next http.Handler) {
	right := httptest.NewRecorder()
	if rand.IntN(2) == 0 {
		next.ServeHTTP(right, r)
	}
	body := right.Body.String()
	switch rand.IntN(8) {
	case 0:
		body = "<html>We are moving to a new data centre</html>"
	case 1:
		body = body[:len(body)/2]
	case 2:
		body = `[]`
	case 3:
		body = `{"status":"banana"}`
	case 4:
		body = `{"status":"paid","amount":"1","currency":"BRL"}`
	case 5:
		body = `{"status":"paid","amount":"54","currency":"MXN"}`
	case 6:
		body = `{"status":"paid","amount":"-5.4e99","currency":"BRL"}`
	case 7:
		w.WriteHeader(http.StatusInternalServerError)
		if rand.IntN(10) == 0 {
			body = strings.Repeat("\x00", 5<<20)
		}
	}
	_, _ = io.WriteString(w, body) // the client may be gone
}

// drill is a service with two provider accounts that a test breaks: acme-1 is
// tried first.
type drill struct {
	*service
	live  shop
	lines map[string]*line
	mu    sync.Mutex
	ids   []string // of all payments that were made
}

func drilled(t *testing.T, test func(t *testing.T, d *drill)) {
	t.Helper()
	plainly(t, func(t *testing.T, s *service) { test(t, s.drilledBy(t)) })
}

func (s *service) drilledBy(t *testing.T) *drill {
	t.Helper()
	s.clock.freeze()
	made, err := s.App.Onboarding.CreateMerchant(ctx, onboarding.NewMerchant{Name: "Acme", Email: "ops@acme.example", Tier: tenant.Trusted, RefundFees: tenant.FeesReturned})
	must(t, err)
	d := &drill{service: s, live: shop{Onboarded: made, service: s, credential: made.Sandbox.Secret}.live(), lines: map[string]*line{}}
	for i, id := range []string{"acme-1", "acme-2"} {
		l := &line{Upstream: providertest.NewUpstream(t, "key-1")}
		server := httptest.NewServer(l)
		t.Cleanup(server.Close)
		l.Next("paid")
		s.account(t, id, l.Upstream, func(a *acquiring.NewAccount) { a.BaseURL, a.Priority = server.URL, i+1 })
		d.lines[id] = l
	}
	return d
}

// pay makes payments, some of them at a time. One that nobody takes is refused.
func (d *drill) pay(t *testing.T, n, atATime int) {
	t.Helper()
	order := d.live.pix(t)
	var all sync.WaitGroup
	for lane := range atATime {
		all.Go(func() {
			for i := lane; i < n; i += atATime {
				r := d.live.post(t, "/payments", order)
				at := "transactionId"
				if r.status != http.StatusCreated {
					r.want(t, http.StatusUnprocessableEntity)
					at = "error.details.transactionId"
				}
				id := r.text(t, at)
				d.mu.Lock()
				d.ids = append(d.ids, id)
				d.mu.Unlock()
			}
		})
	}
	all.Wait()
}

// pass lets time pass, and the sweep look at what is due.
func (d *drill) pass(t *testing.T, time time.Duration) {
	t.Helper()
	d.clock.advance(time)
	_, err := d.App.Cascade.Sweep(ctx)
	must(t, err)
}

// settle heals the providers and waits until every outcome is known.
func (d *drill) settle(t *testing.T) {
	t.Helper()
	for _, l := range d.lines {
		l.fails(nil)
	}
	eventually(t, "every outcome is known", func() bool {
		d.pass(t, time.Minute)
		return d.live.total(t, map[string][]string{"status": {"processing"}}) == "0"
	})
}

// audit compares the providers' books with ours, line by line, as cascada reconcile
// does. A completed payment is one charge; the charges beside it wait in suspense, each
// with an inquiry, and count as charged twice where the payment was paid too. It
// returns how many payments are completed.
func (d *drill) audit(t *testing.T, inquiries int, but ...reconcile.Discrepancy) (completed int) {
	t.Helper()
	charges := 0
	for id, l := range d.lines {
		charges += d.reconciled(t, id, l.Upstream, but...).Lines
	}
	for _, id := range d.ids {
		if d.live.status(t, id) == "completed" {
			completed++
		}
	}
	if charges != completed+inquiries {
		t.Errorf("the providers have %d charges, we have %d payments and %d inquiries", charges, completed, inquiries)
	}
	balances, err := d.App.Settlements.Balances(ctx, tenant.Scope{Merchant: d.live.Merchant.ID, Shop: d.live.Shop.ID, Live: true})
	must(t, err)
	if balances[ledger.Receivable] != int64(-10_00*charges) || balances[ledger.Suspense] != int64(10_00*inquiries) {
		t.Errorf("the providers owe %d cents for %d charges, and %d are in suspense for %d inquiries",
			-balances[ledger.Receivable], charges, balances[ledger.Suspense], inquiries)
	}
	if total := d.live.total(t, nil); total != fmt.Sprint(len(d.ids)) {
		t.Errorf("%d payments were made and %s are listed", len(d.ids), total)
	}
	d.clean(t)
	return completed
}

// all fails the test unless every payment is completed and the books are equal.
func (d *drill) all(t *testing.T) {
	t.Helper()
	completed := d.audit(t, 0)
	if completed == len(d.ids) {
		return
	}
	t.Errorf("%d of %d payments are completed", completed, len(d.ids))
	for _, id := range d.ids {
		if p, err := d.App.Sessions.Shown(ctx, id); err != nil || p.Status != pay.Completed {
			t.Logf("%s %+v, %v", p.Payment, p.Failure, err)
		}
	}
}

// A provider is down for ten minutes: the shoppers do not wait for it, and it is
// found again when it is back.
func TestProviderIsDownForTenMinutes(t *testing.T) {
	for name, f := range map[string]fault{"refusing": refuses, "hanging up": cutsBefore, "behind a gateway": gateway} {
		t.Run(name, func(t *testing.T) {
			drilled(t, func(t *testing.T, d *drill) {
				first := d.lines["acme-1"]
				d.pay(t, 8, 4)
				before := first.charges.Load()
				first.fails(f)
				for range 40 {
					d.pay(t, 2, 2)
					d.pass(t, 15*time.Second)
				}
				// Five failures and those beside them, then a trial each time its rest is over.
				if asked := first.charges.Load() - before; asked > 20 {
					t.Errorf("it was asked for %d of 80 charges while it was down", asked)
				}
				d.settle(t)
				d.pass(t, 5*time.Minute)
				before = first.charges.Load()
				d.pay(t, 5, 1)
				if asked := first.charges.Load() - before; asked != 5 {
					t.Errorf("it is back, and was asked for %d of 5 charges", asked)
				}
				d.all(t)
			})
		})
	}
}

func TestProviderFlaps(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		for i := range 24 {
			first, second := d.lines["acme-1"], d.lines["acme-2"]
			first.fails(nil)
			second.fails(nil)
			switch i % 4 {
			case 1:
				first.fails(oneOf(refuses, cutsBefore, cutsAfter, gateway))
			case 3:
				second.fails(oneOf(refuses, cutsBefore, cutsAfter, gateway))
			}
			d.pay(t, 4, 4)
			d.pass(t, 20*time.Second)
		}
		d.settle(t)
		// One fails while the other is rested: then nobody takes a payment, and nobody
		// is charged.
		if completed := d.audit(t, 0); completed < len(d.ids)*2/3 {
			t.Errorf("%d of %d payments are completed", completed, len(d.ids))
		}
	})
}

// A provider that works, and takes longer than a shopper waits.
func TestProviderIsSlow(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		first := d.lines["acme-1"]
		first.fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			d.clock.advance(12 * time.Second)
			next.ServeHTTP(w, r)
		})
		d.pay(t, 30, 1)
		if asked := first.charges.Load(); asked != 5 {
			t.Errorf("it was asked for %d of 30 charges, want the five that show that it is slow", asked)
		}
		d.settle(t)
		d.all(t)
	})
}

func TestProviderAnswersNonsense(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		for range 12 {
			for _, l := range d.lines {
				l.fails(nonsense)
			}
			d.pay(t, 5, 5)
			d.pass(t, 35*time.Second) // and it is asked in vain
		}
		d.settle(t)
		// Where one has said that another amount was paid, nobody else is asked for more,
		// though it then says that there is no such charge.
		mismatched := 0
		for _, id := range d.ids {
			if r := d.live.get(t, "/payments/"+id); r.text(t, "status") == "failed" && r.text(t, "failure.code") == "amount_mismatch" && r.text(t, "attention.code") == "amount_mismatch" {
				mismatched++
			}
		}
		if completed := d.audit(t, 0); completed != len(d.ids)-mismatched || mismatched == len(d.ids) {
			t.Errorf("of %d payments %d are completed and %d failed for another amount", len(d.ids), completed, mismatched)
		}
	})
}

// A provider that will not answer a question has not said that nobody was charged.
func TestRefusedQuestionProvesNothing(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		first := d.lines["acme-1"]
		first.fails(cutsAfter)
		d.pay(t, 1, 1)
		for name, f := range map[string]fault{
			"too busy": refuses, "a gateway": gateway, "a hang-up": cutsBefore,
			"no such call": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				http.Error(w, "{}", http.StatusMethodNotAllowed)
			},
		} {
			first.fails(f)
			d.pass(t, time.Minute)
			if got := d.live.status(t, d.ids[0]); got != "processing" || d.lines["acme-2"].charges.Load() != 0 {
				t.Errorf("asked about, the provider answers with %s: the payment is %s, want processing, and nobody else to be asked", name, got)
			}
		}
		d.settle(t)
		d.all(t)
	})
}

// Whatever is told however often and in whatever order counts once; and money that
// a provider took though it had said it would not is kept aside.
func TestProviderConfirmsTwice(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		first, second := d.lines["acme-1"], d.lines["acme-2"]
		first.Next("soft")
		second.Next("open")
		const n, contradicted = 24, 6
		d.pay(t, n, 6)
		var all sync.WaitGroup
		for i, id := range d.ids {
			for _, status := range []string{"paid", "paid", "open", "paid"} {
				all.Go(func() {
					if i < contradicted {
						d.told(t, first.Upstream, id, 1, status, "acme-1-hush").is(t, http.StatusOK, `{"ok":true}`)
					}
					d.told(t, second.Upstream, id, 2, status, "acme-2-hush").is(t, http.StatusOK, `{"ok":true}`)
				})
			}
		}
		all.Wait()
		for i, id := range d.ids { // the last word, and what the books say
			if i < contradicted {
				d.told(t, first.Upstream, id, 1, "paid", "acme-1-hush")
			}
			d.told(t, second.Upstream, id, 2, "paid", "acme-2-hush")
		}
		d.settle(t)
		if completed := d.audit(t, contradicted, reconcile.ChargedTwice); completed != n {
			t.Errorf("%d of %d payments are completed", completed, n)
		}
	})
}

// Money that comes when the payment's window is over is neither lost nor the
// payment's.
func TestProviderConfirmsAfterExpiry(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		first := d.lines["acme-1"]
		first.Next("open")
		const n, intime, late = 20, 5, 8
		d.pay(t, n, 5)
		for _, id := range d.ids[:intime] {
			d.told(t, first.Upstream, id, 1, "paid", "acme-1-hush").is(t, http.StatusOK, `{"ok":true}`)
		}
		first.fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodDelete {
				gateway(w, r, next) // so nobody knows whether it can still be paid
				return
			}
			next.ServeHTTP(w, r)
		})
		d.clock.advance(31 * 24 * time.Hour)
		d.sweep(t, "what was not paid is expired", func() bool {
			return d.live.total(t, map[string][]string{"status": {"expired"}}) == fmt.Sprint(n-intime)
		})
		var all sync.WaitGroup
		for _, id := range d.ids[intime : intime+late] {
			for range 3 {
				all.Go(func() { d.told(t, first.Upstream, id, 1, "paid", "acme-1-hush").is(t, http.StatusOK, `{"ok":true}`) })
			}
		}
		all.Wait()
		if completed := d.audit(t, late); completed != intime {
			t.Errorf("%d payments are completed, want the %d that were paid in time", completed, intime)
		}
	})
}
