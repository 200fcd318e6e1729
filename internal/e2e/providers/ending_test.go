package providers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// A query answers with another amount, the next one fails, and the third answers with that amount
// again. The payment still ends with its window.
func TestOtherAmountAroundATimeoutEnds(t *testing.T) {
	for name, opened := range map[string]bool{"processing": false, "pending": true} {
		t.Run(name, func(t *testing.T) {
			harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
				first := d.Lines["acme-1"]
				if opened {
					first.Next("open")
				} else {
					first.Fails(harness.TellsOther)
				}
				d.Pay(t, 1, 1)
				id := d.IDs[0]
				for range 2 {
					first.Fails(harness.TellsOther)
					d.Pass(t, 6*time.Minute)
					first.Fails(harness.Gateway)
					d.Pass(t, 6*time.Minute)
				}
				first.Fails(harness.TellsOther)
				d.Pass(t, 6*time.Minute)
				if got := d.Live.Status(t, id); got != name {
					t.Fatalf("within its window the payment is %s, want %s", got, name)
				}
				for range 3 {
					d.Pass(t, 31*24*time.Hour)
				}
				r := d.Live.Get(t, "/payments/"+id)
				if got := r.Text(t, "status"); got != "failed" && got != "expired" || r.Text(t, "failure.code") != "amount_mismatch" {
					t.Errorf("after 93 days the payment has not ended with amount_mismatch: %s", r)
				}
				story, err := d.App.Story(ctx, id)
				harness.Must(t, err)
				if strings.Count(story, "late acme-1/answer/") != 1 {
					t.Errorf("the story does not have the other amount exactly once:\n%s", story)
				}
			})
		})
	}
}

// The shopper paid, the notification is lost, and the provider is down when the window ends. The
// payment does not expire for that reason alone.
func TestPaidWhileTheProviderIsAwayAtExpiry(t *testing.T) {
	for away, want := range map[time.Duration]string{2 * time.Minute: "completed", 47 * time.Hour: "completed", 10 * 24 * time.Hour: "expired"} {
		t.Run(away.String(), func(t *testing.T) {
			harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
				first := d.Lines["acme-1"]
				first.Next("open")
				d.Pay(t, 1, 1)
				id := d.IDs[0]
				expires := d.Expires(t, id)
				d.Clock.Advance(expires.Sub(d.Clock.Now()) - time.Minute)
				first.Notify(strings.TrimPrefix(id, "TXN-")+"-1", "paid", "lost")
				first.Fails(harness.Gateway)
				asked := first.QuestionsAsked.Load()
				for end := d.Clock.Now().Add(away); d.Clock.Now().Before(end); {
					d.Pass(t, min(time.Hour, away))
				}
				if asked := first.QuestionsAsked.Load() - asked; asked < 1 || asked > 90 {
					t.Errorf("the provider was queried %d times while it was down, want 1 to 90", asked)
				}
				first.Fails(nil)
				for range 30 {
					d.Pass(t, 24*time.Hour)
				}
				if got := d.Live.Status(t, id); got != want {
					t.Errorf("the payment is %s, want %s", got, want)
				}
				inquiries := 0
				if want == "expired" { // then the money is late
					inquiries = 1
				}
				d.Audit(t, inquiries)
			})
		})
	}
}

// The service queries an expired payment for some days more: the shopper may have paid at the last
// moment, and the notification may be lost.
func TestMoneyOfAnExpiredPaymentIsFoundWithoutANotification(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		first.Next("open")
		d.Pay(t, 1, 1)
		id := d.IDs[0]
		first.Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if r.Method == http.MethodDelete { // the charge cannot be canceled
				harness.Gateway(w, r, next)
				return
			}
			next.ServeHTTP(w, r)
		})
		d.Clock.Advance(d.Expires(t, id).Sub(d.Clock.Now()))
		d.Pass(t, time.Minute)
		if got := d.Live.Status(t, id); got != "expired" {
			t.Fatalf("the payment is %s, want expired", got)
		}
		d.Pass(t, 2*time.Hour) // the shopper has not paid yet
		first.Notify(strings.TrimPrefix(id, "TXN-")+"-1", "paid", "lost")
		asked := first.QuestionsAsked.Load()
		for range 40 {
			d.Pass(t, 24*time.Hour)
		}
		if n := first.QuestionsAsked.Load() - asked; n < 1 || n > 2 {
			t.Errorf("the provider was queried %d times after the shopper paid, want 1 or 2", n)
		}
		d.Audit(t, 1)
		r := d.Live.Get(t, "/payments/"+id)
		if r.Text(t, "status") != "expired" || r.Text(t, "attention.code") != "late_payment" || !strings.HasPrefix(r.Text(t, "attention.claimId"), "CLM-") {
			t.Errorf("the payment does not show its late money: %s", r)
		}
	})
}

// The service stops querying an expired payment when the provider never has news of it.
func TestExpiredPaymentIsLetGo(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		first.Next("open")
		d.Pay(t, 1, 1)
		d.Clock.Advance(d.Expires(t, d.IDs[0]).Sub(d.Clock.Now()))
		d.Pass(t, time.Minute)
		asked := first.QuestionsAsked.Load()
		for range 24 {
			d.Pass(t, time.Hour)
		}
		for range 60 {
			d.Pass(t, 24*time.Hour)
		}
		if n := first.QuestionsAsked.Load() - asked; n != 5 {
			t.Errorf("the provider was queried %d times after the payment expired, want 5", n)
		}
		d.Clean(t)
	})
}

// The service queries an unknown outcome at longer and longer intervals.
func TestUnknownOutcomeIsAskedAboutLessAndLess(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		first := d.Lines["acme-1"]
		first.Fails(harness.CutsAfter)
		d.Pay(t, 1, 1)
		first.Fails(harness.Gateway)
		asked := first.QuestionsAsked.Load()
		for range 48 {
			d.Pass(t, time.Hour/2)
		}
		if n := first.QuestionsAsked.Load() - asked; n < 20 || n > 34 {
			t.Errorf("on the first day the provider was queried %d times, want 20 to 34", n)
		}
		asked = first.QuestionsAsked.Load()
		for range 24 * 4 {
			d.Pass(t, time.Hour)
		}
		if n := first.QuestionsAsked.Load() - asked; n < 12 || n > 30 {
			t.Errorf("in the next four days the provider was queried %d times, want 12 to 30", n)
		}
		first.Fails(nil)
		d.Pass(t, 7*time.Hour)
		allCompleted(t, d)
	})
}
