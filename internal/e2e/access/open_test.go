package access

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
)

// The service reports the age of the oldest open thing of each kind, until somebody ends it.
func TestOldestOfEachKindHasAnAge(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		age := func(kind string) time.Duration {
			t.Helper()
			oldest, err := d.App.OldestOpen(ctx)
			harness.Must(t, err)
			at, known := oldest[kind]
			if !known {
				t.Fatalf("the kind %q is not in %v", kind, oldest)
			}
			if at.IsZero() {
				return 0
			}
			return d.Clock.Now().Sub(at)
		}
		is := func(kind string, want time.Duration) {
			t.Helper()
			if got := age(kind); got < want || got > want+time.Minute {
				t.Errorf("the oldest %s is %s old, want %s", kind, got, want)
			}
		}
		for _, kind := range []string{"unknown outcome", "refund", "late money", "notification that does not fit", "dispute under review", "withdrawal", "verification", "row that cannot be read"} {
			is(kind, 0)
		}
		first := d.Lines["acme-1"]
		first.Fails(harness.CutsAfter)
		d.Pay(t, 1, 1)
		first.Fails(harness.Gateway)
		d.Pass(t, 3*time.Hour)
		is("unknown outcome", 3*time.Hour)
		_, _, err := d.Rule(d.IDs[0], pay.WordPaid, false)
		harness.Must(t, err)
		is("unknown outcome", 0)

		first.Fails(harness.Gateway)
		claim := d.Live.Post(t, "/payments/"+d.IDs[0]+"/refund", `{}`).Want(t, http.StatusOK).Text(t, "refundId")
		d.Pass(t, 5*time.Hour)
		is("refund", 5*time.Hour)
		_, err = harness.DecideClaim(d.App, claim, pay.Reject, "not in their books")
		harness.Must(t, err)
		is("refund", 0)

		first.Fails(nil)
		first.Next("open")
		d.Pay(t, 1, 1)
		id := d.IDs[1]
		d.Clock.Advance(d.Expires(t, id).Sub(d.Clock.Now()))
		d.Pass(t, time.Minute)
		harness.Eventually(t, "the payment is expired", func() bool { return d.Live.Status(t, id) == "expired" })
		d.TellUpstream(t, first.Upstream, id, 1, "paid", "acme-1-hush").Is(t, http.StatusOK, `{"ok":true}`)
		d.Pass(t, 7*time.Hour)
		is("late money", 7*time.Hour)
		_, err = harness.DecideClaim(d.App, d.Live.Get(t, "/payments/"+id).Text(t, "attention.claimId"), pay.Reject, "the shop takes it")
		harness.Must(t, err)
		is("late money", 0)

		first.Next("paid")
		first.Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) { // in another currency
			next.ServeHTTP(httptest.NewRecorder(), r)
			_, _ = io.WriteString(w, `{"status":"paid","amount":"10","currency":"USD"}`)
		})
		d.Pay(t, 1, 1)
		d.Pass(t, 9*time.Hour)
		is("notification that does not fit", 9*time.Hour)
		open, err := d.App.Notices.Notifications(ctx, "", 10)
		harness.Must(t, err)
		harness.Must(t, d.App.Notices.CloseNotification(ctx, d.App.Notices.Self(), open[0].ID, "given back"))
		is("notification that does not fit", 0)
	})
}
