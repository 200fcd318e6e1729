package providers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// A provider hangs while more of its payments are due than a lane holds. Meanwhile a payment at a
// healthy provider is found paid. When the first provider answers again, its own payments are too.
func TestProviderThatHangsDelaysOnlyItself(t *testing.T) {
	harness.Drilled(t, func(t *testing.T, d *harness.Drill) {
		sick, healthy := d.Lines["acme-1"], d.Lines["acme-2"]
		sick.Next("open")
		healthy.Next("open")
		d.Pay(t, 40, 8)
		sick.Fails(harness.Refuses) // so that the next payment goes to the healthy provider
		d.Pay(t, 1, 1)
		last := d.IDs[len(d.IDs)-1]
		if shown, err := d.App.Sessions.Shown(ctx, last); err != nil || len(shown.Attempts) != 2 {
			t.Fatalf("the last payment is not at the second provider: %+v (%v)", shown.Attempts, err)
		}
		for ref := range healthy.Charges() {
			healthy.Notify(ref, "paid", "x") // the notification is lost
		}
		hang := make(chan struct{})
		sick.Fails(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
			next.ServeHTTP(w, r)
		})
		d.Clock.Advance(5*time.Minute + time.Second)
		harness.Eventually(t, "the healthy provider's payment is found paid", func() bool { return d.Live.Status(t, last) == "completed" })
		sick.Fails(nil)
		close(hang)
		for ref := range sick.Charges() {
			if strings.HasSuffix(ref, "-1") {
				sick.Notify(ref, "paid", "x")
			}
		}
		harness.Eventually(t, "the others are found paid", func() bool {
			d.Clock.Advance(time.Minute)
			return d.Live.Total(t, map[string][]string{"status": {"completed"}}) == "41"
		})
	})
}
