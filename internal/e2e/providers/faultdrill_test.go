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
	"github.com/cascadapay/cascada/internal/pay/reconcile"
)

func cutsBefore(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) }

// oneOf picks one of the faults at random for each request.
func oneOf(faults ...harness.Fault) harness.Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		faults[rand.IntN(len(faults))](w, r, next)
	}
}

// nonsense carries out half of the requests and sends an answer that no adapter can read or
// believe.
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
	_, _ = io.WriteString(w, body) // the client may have closed the connection
}

// heal ends all faults and waits until every outcome is known.
func heal(t *testing.T, d *harness.Drill) {
	t.Helper()
	for _, l := range d.Lines {
		l.Fails(nil)
	}
	harness.Eventually(t, "every outcome is known", func() bool {
		d.PassOnce(t, time.Minute)
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
	t.Errorf("%d of %d payments are completed, want all", completed, len(d.IDs))
	for _, id := range d.IDs {
		if p, err := d.App.Sessions.Shown(ctx, id); err != nil || p.Status != pay.Completed {
			t.Logf("%s %+v, %v", p.Payment, p.End.Failure, err)
		}
	}
}

// A provider is down for ten minutes. Shoppers do not wait for it, and the service uses it again
// when it is back.
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
					d.PassOnce(t, 15*time.Second)
				}
				// Five failures open the circuit, and calls beside them fail too. After each rest of the
				// circuit there is one trial.
				if asked := first.ChargesAsked.Load() - before; asked > 20 {
					t.Errorf("the provider was called for %d of 80 charges while it was down, want at most 20", asked)
				}
				heal(t, d)
				d.Pass(t, 5*time.Minute)
				before = first.ChargesAsked.Load()
				d.Pay(t, 5, 1)
				if asked := first.ChargesAsked.Load() - before; asked != 5 {
					t.Errorf("the provider is back, but was called for %d of 5 charges", asked)
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
		// When one fails while the circuit of the other is open, no provider accepts the payment, and
		// no shopper is charged.
		if completed := d.Audit(t, 0); completed < len(d.IDs)*2/3 {
			t.Errorf("%d of %d payments are completed", completed, len(d.IDs))
		}
	})
}

// A provider works, but its answers take longer than a shopper waits.
func TestProviderIsSlow(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		first.Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			d.Clock.Advance(12 * time.Second)
			next.ServeHTTP(w, r)
		})
		d.Pay(t, 30, 1)
		if asked := first.ChargesAsked.Load(); asked != 5 {
			t.Errorf("the slow provider was called for %d of 30 charges, want the 5 that open its circuit", asked)
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
			d.PassOnce(t, 35*time.Second) // queries get nonsense too
		}
		heal(t, d)
		// Once a provider has said that another amount was paid, no other provider is charged, even if
		// the first one later says that there is no such charge.
		mismatched := 0
		for _, id := range d.IDs {
			if r := d.Live.Get(t, "/payments/"+id); r.Text(t, "status") == "failed" && r.Text(t, "failure.code") == "amount_mismatch" && r.Text(t, "attention.code") == "amount_mismatch" {
				mismatched++
			}
		}
		unfounded(t, d)
		if completed := d.Audit(t, 0); completed != len(d.IDs)-mismatched || mismatched == len(d.IDs) {
			t.Errorf("of %d payments %d are completed and %d failed for another amount, want every payment in one group", len(d.IDs), completed, mismatched)
		}
	})
}

// unfounded ends the inquiries about other amounts that the providers had never received.
func unfounded(t *testing.T, d *harness.Drill) {
	t.Helper()
	list, err := d.App.Claims.AnyList(ctx, pay.ClaimPending, pay.Inquiry, 1000)
	harness.Must(t, err)
	for _, c := range list {
		_, err := harness.DecideClaim(d.App, c.ID, pay.Withdraw, "the report of today does not have it")
		harness.Must(t, err)
	}
}

// A provider that refuses a query has not said that the shopper was not charged.
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
				t.Errorf("the query was answered with %s: the payment is %s, want processing and no charge at another provider", name, got)
			}
		}
		heal(t, d)
		allCompleted(t, d)
	})
}

// Notifications count once, however often and in whatever order they come. Money that a provider
// took after it had declined the charge goes to suspense.
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
		for i, id := range d.IDs { // the last notification says what the provider's books say
			if i < contradicted {
				d.TellUpstream(t, first.Upstream, id, 1, "paid", "acme-1-hush")
			}
			d.TellUpstream(t, second.Upstream, id, 2, "paid", "acme-2-hush")
		}
		heal(t, d)
		if completed := d.Audit(t, contradicted, reconcile.ChargedTwice); completed != n {
			t.Errorf("%d of %d payments are completed, want all", completed, n)
		}
	})
}

// Money that comes after the payment's window is not lost, and it does not complete the payment.
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
				harness.Gateway(w, r, next) // so it is unknown whether the charge can still be paid
				return
			}
			next.ServeHTTP(w, r)
		})
		d.Clock.Advance(31 * 24 * time.Hour)
		d.Sweep(t, "the unpaid payments are expired", func() bool {
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
