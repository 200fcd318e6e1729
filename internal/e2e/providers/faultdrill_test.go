package providers

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/reconcile"
)

func cutsBefore(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// oneOf misbehaves in one of several ways.
func oneOf(faults ...harness.Fault) harness.Fault {
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

// heal heals the providers and waits until every outcome is known.
func heal(t *testing.T, d *harness.Drill) {
	t.Helper()
	for _, l := range d.Lines {
		l.Fails(nil)
	}
	harness.Eventually(t, "every outcome is known", func() bool {
		d.Pass(t, time.Minute)
		return d.Live.Total(t, map[string][]string{"status": {"processing"}}) == "0"
	})
}

// allCompleted fails the test unless every payment is completed and the books are equal.
func allCompleted(t *testing.T, d *harness.Drill) {
	t.Helper()
	completed := d.Audit(t, 0)
	if completed == len(d.IDs) {
		return
	}
	t.Errorf("%d of %d payments are completed", completed, len(d.IDs))
	for _, id := range d.IDs {
		if p, err := d.App.Sessions.Shown(ctx, id); err != nil || p.Status != pay.Completed {
			t.Logf("%s %+v, %v", p.Payment, p.Failure, err)
		}
	}
}

// A provider is down for ten minutes: the shoppers do not wait for it, and it is
// found again when it is back.
func TestProviderIsDownForTenMinutes(t *testing.T) {
	for name, f := range map[string]harness.Fault{"refusing": harness.Refuses, "hanging up": cutsBefore, "behind a gateway": harness.Gateway} {
		t.Run(name, func(t *testing.T) {
			harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
				first := d.Lines["acme-1"]
				d.Pay(t, 8, 4)
				before := first.ChargesAsked.Load()
				first.Fails(f)
				for range 40 {
					d.Pay(t, 2, 2)
					d.Pass(t, 15*time.Second)
				}
				// Five failures and those beside them, then a trial each time its rest is over.
				if asked := first.ChargesAsked.Load() - before; asked > 20 {
					t.Errorf("it was asked for %d of 80 charges while it was down", asked)
				}
				heal(t, d)
				d.Pass(t, 5*time.Minute)
				before = first.ChargesAsked.Load()
				d.Pay(t, 5, 1)
				if asked := first.ChargesAsked.Load() - before; asked != 5 {
					t.Errorf("it is back, and was asked for %d of 5 charges", asked)
				}
				allCompleted(t, d)
			})
		})
	}
}

func TestProviderFlaps(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		for i := range 24 {
			first, second := d.Lines["acme-1"], d.Lines["acme-2"]
			first.Fails(nil)
			second.Fails(nil)
			switch i % 4 {
			case 1:
				first.Fails(oneOf(harness.Refuses, cutsBefore, harness.CutsAfter, harness.Gateway))
			case 3:
				second.Fails(oneOf(harness.Refuses, cutsBefore, harness.CutsAfter, harness.Gateway))
			}
			d.Pay(t, 4, 4)
			d.Pass(t, 20*time.Second)
		}
		heal(t, d)
		// One fails while the other is rested: then nobody takes a payment, and nobody
		// is charged.
		if completed := d.Audit(t, 0); completed < len(d.IDs)*2/3 {
			t.Errorf("%d of %d payments are completed", completed, len(d.IDs))
		}
	})
}

// A provider that works, and takes longer than a shopper waits.
func TestProviderIsSlow(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		first.Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			d.Clock.Advance(12 * time.Second)
			next.ServeHTTP(w, r)
		})
		d.Pay(t, 30, 1)
		if asked := first.ChargesAsked.Load(); asked != 5 {
			t.Errorf("it was asked for %d of 30 charges, want the five that show that it is slow", asked)
		}
		heal(t, d)
		allCompleted(t, d)
	})
}

func TestProviderAnswersNonsense(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		for range 12 {
			for _, l := range d.Lines {
				l.Fails(nonsense)
			}
			d.Pay(t, 5, 5)
			d.Pass(t, 35*time.Second) // and it is asked in vain
		}
		heal(t, d)
		// Where one has said that another amount was paid, nobody else is asked for more,
		// though it then says that there is no such charge.
		mismatched := 0
		for _, id := range d.IDs {
			if r := d.Live.Get(t, "/payments/"+id); r.Text(t, "status") == "failed" && r.Text(t, "failure.code") == "amount_mismatch" && r.Text(t, "attention.code") == "amount_mismatch" {
				mismatched++
			}
		}
		if completed := d.Audit(t, 0); completed != len(d.IDs)-mismatched || mismatched == len(d.IDs) {
			t.Errorf("of %d payments %d are completed and %d failed for another amount", len(d.IDs), completed, mismatched)
		}
	})
}

// A provider that will not answer a question has not said that nobody was charged.
func TestRefusedQuestionProvesNothing(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		first.Fails(harness.CutsAfter)
		d.Pay(t, 1, 1)
		for name, f := range map[string]harness.Fault{
			"too busy": harness.Refuses, "a gateway": harness.Gateway, "a hang-up": cutsBefore,
			"no such call": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				http.Error(w, "{}", http.StatusMethodNotAllowed)
			},
		} {
			first.Fails(f)
			d.Pass(t, time.Minute)
			if got := d.Live.Status(t, d.IDs[0]); got != "processing" || d.Lines["acme-2"].ChargesAsked.Load() != 0 {
				t.Errorf("asked about, the provider answers with %s: the payment is %s, want processing, and nobody else to be asked", name, got)
			}
		}
		heal(t, d)
		allCompleted(t, d)
	})
}

// Whatever is told however often and in whatever order counts once; and money that
// a provider took though it had said it would not is kept aside.
func TestProviderConfirmsTwice(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first, second := d.Lines["acme-1"], d.Lines["acme-2"]
		first.Next("soft")
		second.Next("open")
		const n, contradicted = 24, 6
		d.Pay(t, n, 6)
		var all sync.WaitGroup
		for i, id := range d.IDs {
			for _, status := range []string{"paid", "paid", "open", "paid"} {
				all.Go(func() {
					if i < contradicted {
						d.TellUpstream(t, first.Upstream, id, 1, status, "acme-1-hush").Is(t, http.StatusOK, `{"ok":true}`)
					}
					d.TellUpstream(t, second.Upstream, id, 2, status, "acme-2-hush").Is(t, http.StatusOK, `{"ok":true}`)
				})
			}
		}
		all.Wait()
		for i, id := range d.IDs { // the last word, and what the books say
			if i < contradicted {
				d.TellUpstream(t, first.Upstream, id, 1, "paid", "acme-1-hush")
			}
			d.TellUpstream(t, second.Upstream, id, 2, "paid", "acme-2-hush")
		}
		heal(t, d)
		if completed := d.Audit(t, contradicted, reconcile.ChargedTwice); completed != n {
			t.Errorf("%d of %d payments are completed", completed, n)
		}
	})
}

// Money that comes when the payment's window is over is neither lost nor the
// payment's.
func TestProviderConfirmsAfterExpiry(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		first.Next("open")
		const n, intime, late = 20, 5, 8
		d.Pay(t, n, 5)
		for _, id := range d.IDs[:intime] {
			d.TellUpstream(t, first.Upstream, id, 1, "paid", "acme-1-hush").Is(t, http.StatusOK, `{"ok":true}`)
		}
		first.Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodDelete {
				harness.Gateway(w, r, next) // so nobody knows whether it can still be paid
				return
			}
			next.ServeHTTP(w, r)
		})
		d.Clock.Advance(31 * 24 * time.Hour)
		d.Sweep(t, "what was not paid is expired", func() bool {
			return d.Live.Total(t, map[string][]string{"status": {"expired"}}) == fmt.Sprint(n-intime)
		})
		var all sync.WaitGroup
		for _, id := range d.IDs[intime : intime+late] {
			for range 3 {
				all.Go(func() {
					d.TellUpstream(t, first.Upstream, id, 1, "paid", "acme-1-hush").Is(t, http.StatusOK, `{"ok":true}`)
				})
			}
		}
		all.Wait()
		if completed := d.Audit(t, late); completed != intime {
			t.Errorf("%d payments are completed, want the %d that were paid in time", completed, intime)
		}
	})
}
