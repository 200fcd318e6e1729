package payments

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// A hosted payment expired, and the shopper tried again and paid. Days later, when Idempotency-Keys
// are deleted, the first payment's page does not make another session for the order.
func TestOrderIsNotPaidAgainAWeekLater(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		id := o.Create(t, harness.HostedVoucher)
		s.AtBank(t, id, "timeout")
		s.Clock.Advance(40 * 24 * time.Hour)
		_, err := s.App.Cascade.Sweep(ctx)
		harness.Must(t, err)
		again := func() (string, int) {
			status, _, h := s.Browse(t, http.MethodPost, "/pay/"+id+"/again", "")
			at, _, _ := strings.Cut(h.Get("Location"), "?")
			return at, status
		}
		session, status := again()
		if status != http.StatusSeeOther || !strings.HasPrefix(session, "/checkout/cs_") {
			t.Fatalf("the button to try again returns %d to %q, want 303 to a session", status, session)
		}
		_, _, h := s.Browse(t, http.MethodPost, session, url.Values{"method": {"sbx_cash"}}.Encode())
		second := strings.TrimPrefix(h.Get("Location"), "/c/")
		s.AtBank(t, second, "pay")
		if o.Status(t, second) != "completed" {
			t.Fatalf("the second payment is %s, want completed", o.Status(t, second))
		}
		s.Clock.Advance(8 * 24 * time.Hour)
		harness.Must(t, s.App.PurgeKeys(ctx))
		if after, status := again(); status == http.StatusSeeOther && after != session {
			t.Errorf("the order is paid with %s, but the first payment's page leads to the new session %s", second, after)
		}
	})
}
