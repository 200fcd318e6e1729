package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A hosted payment came to nothing, and the shopper tried again and paid. Days later, when
// Idempotency-Keys are forgotten, the first page does not offer to pay the order once more.
func TestOrderIsNotPaidAgainAWeekLater(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		id := o.create(t, hostedVoucher)
		s.atBank(t, id, "timeout")
		s.clock.advance(40 * 24 * time.Hour)
		_, err := s.App.Cascade.Sweep(ctx)
		must(t, err)
		again := func() (string, int) {
			status, _, h := s.browse(t, http.MethodPost, "/pay/"+id+"/again", "")
			at, _, _ := strings.Cut(h.Get("Location"), "?")
			return at, status
		}
		session, status := again()
		if status != http.StatusSeeOther || !strings.HasPrefix(session, "/checkout/cs_") {
			t.Fatalf("again answers %d to %q", status, session)
		}
		_, _, h := s.browse(t, http.MethodPost, session, url.Values{"method": {"sbx_cash"}}.Encode())
		second := strings.TrimPrefix(h.Get("Location"), "/c/")
		s.atBank(t, second, "pay")
		if o.status(t, second) != "completed" {
			t.Fatalf("the second payment is %s", o.status(t, second))
		}
		s.clock.advance(8 * 24 * time.Hour)
		must(t, s.App.PurgeKeys(ctx))
		if after, status := again(); status == http.StatusSeeOther && after != session {
			t.Errorf("the order is paid (%s), and its first page leads to %s", second, after)
		}
	})
}
