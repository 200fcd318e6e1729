package e2e

import (
	"net/http"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// Each thing that is open has an age, until somebody ends it.
func TestOldestOfEachKindHasAnAge(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		age := func(kind string) time.Duration {
			t.Helper()
			oldest, err := d.App.OldestOpen(ctx)
			must(t, err)
			at, known := oldest[kind]
			if !known {
				t.Fatalf("there is no kind %q of %v", kind, oldest)
			}
			if at.IsZero() {
				return 0
			}
			return d.clock.now().Sub(at)
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
		first := d.lines["acme-1"]
		first.fails(cutsAfter)
		d.pay(t, 1, 1)
		first.fails(gateway)
		d.pass(t, 3*time.Hour)
		is("unknown outcome", 3*time.Hour)
		_, _, err := d.rule(d.ids[0], pay.WordPaid, false)
		must(t, err)
		is("unknown outcome", 0)

		first.fails(gateway)
		claim := d.live.post(t, "/payments/"+d.ids[0]+"/refund", `{}`).want(t, http.StatusOK).text(t, "refundId")
		d.pass(t, 5*time.Hour)
		is("refund", 5*time.Hour)
		_, err = d.App.Claims.RuleClaim(ctx, claim, pay.Reject, "not in their books")
		must(t, err)
		is("refund", 0)

		first.fails(nil)
		first.Next("open")
		d.pay(t, 1, 1)
		id := d.ids[1]
		d.clock.advance(d.expires(t, id).Sub(d.clock.now()))
		d.pass(t, time.Minute)
		eventually(t, "it is expired", func() bool { return d.live.status(t, id) == "expired" })
		d.told(t, first.Upstream, id, 1, "paid", "acme-1-hush").is(t, http.StatusOK, `{"ok":true}`)
		d.pass(t, 7*time.Hour)
		is("late money", 7*time.Hour)
		_, err = d.App.Claims.RuleClaim(ctx, d.live.get(t, "/payments/"+id).text(t, "attention.claimId"), pay.Reject, "the shop takes it")
		must(t, err)
		is("late money", 0)

		first.Next("paid")
		first.fails(tellsOther)
		d.pay(t, 1, 1)
		d.pass(t, 9*time.Hour)
		is("notification that does not fit", 9*time.Hour)
		open, err := d.App.Notices.Notifications(ctx, "", 10)
		must(t, err)
		must(t, d.App.Notices.CloseNotification(ctx, open[0].ID, "given back"))
		is("notification that does not fit", 0)
	})
}
