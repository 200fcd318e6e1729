package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// A provider hangs, with more payments due than a lane holds. A payment at a healthy one
// is found paid meanwhile, and once the first answers again all of its own are.
func TestProviderThatHangsDelaysOnlyItself(t *testing.T) {
	drilled(t, func(t *testing.T, d *drill) {
		sick, healthy := d.lines["acme-1"], d.lines["acme-2"]
		sick.Next("open")
		healthy.Next("open")
		d.pay(t, 40, 8)
		sick.fails(refuses) // so that the next one goes to the other
		d.pay(t, 1, 1)
		last := d.ids[len(d.ids)-1]
		if shown, err := d.App.Sessions.Shown(ctx, last); err != nil || len(shown.Attempts) != 2 {
			t.Fatalf("the last payment is not at the second provider: %+v (%v)", shown.Attempts, err)
		}
		for ref := range healthy.Charges() {
			healthy.Notify(ref, "paid", "x") // the notification is lost
		}
		hang := make(chan struct{})
		sick.fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
			next.ServeHTTP(w, r)
		})
		d.clock.advance(5*time.Minute + time.Second)
		eventually(t, "the healthy provider's payment is found paid", func() bool { return d.live.status(t, last) == "completed" })
		sick.fails(nil)
		close(hang)
		for ref := range sick.Charges() {
			if strings.HasSuffix(ref, "-1") {
				sick.Notify(ref, "paid", "x")
			}
		}
		eventually(t, "the others are found paid", func() bool {
			d.clock.advance(time.Minute)
			return d.live.total(t, map[string][]string{"status": {"completed"}}) == "41"
		})
	})
}
