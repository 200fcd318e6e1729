package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// Analytics count payments by how they ended, by day and by method, and compare with the days before.
func TestAnalyticsCountHowPaymentsEnded(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Viewer)
		if text := u.Ask(t, http.MethodGet, "/analytics", nil).Text(); !strings.Contains(text, "No payments in these days") {
			t.Errorf("an empty shop sees %s", text)
		}
		o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_card"}`) // 40 days ago
		s.Clock.Advance(40 * 24 * time.Hour)
		u = o.Staff(t, people.Viewer)
		for _, ending := range []string{"paid", "paid", "failed", "expired", ""} {
			id := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_cash"}`)
			if ending != "" {
				o.Simulate(t, id, ending).Want(t, http.StatusOK)
			}
		}
		o.Create(t, harness.Card)
		text := u.Ask(t, http.MethodGet, "/analytics?days=30", nil).Text()
		for _, want := range []string{"Payments 6 before: 1", "Approval rate 75.0%", "before: 100%", "cash 5 2 1 1 1 66.7%", "card 1 1 0 0 0 100% 100%"} {
			if !strings.Contains(text, want) {
				t.Errorf("the page lacks %q: %s", want, text)
			}
		}
		if text := u.Ask(t, http.MethodGet, "/analytics?by=country", nil).Text(); !strings.Contains(text, "MEX 5 2 1 1 1") {
			t.Errorf("by country: %s", text)
		}
		day := s.Clock.Now().UTC().Format(time.DateOnly)
		file := u.Ask(t, http.MethodGet, "/analytics/days.csv?from="+day+"&to="+day, nil)
		if want := "Day,Payments,Paid,Declined or canceled,Expired,Open"; file.Status != http.StatusOK || !strings.Contains(file.Body, want) || !strings.Contains(file.Body, day+",6,3,1,1,1") {
			t.Errorf("the file of the days is %d %s", file.Status, file.Body)
		}
		if file := u.Ask(t, http.MethodGet, "/analytics/parts.csv?by=method", nil); !strings.Contains(file.Body, "cash,5,2,1,1,1,0,0,0,0,0") {
			t.Errorf("the file of the methods is %d %s", file.Status, file.Body)
		}
		for _, query := range []string{"?from=2026-13-01", "?from=tomorrow", "?from=2026-11-21&to=2026-11-01", "?from=2020-01-01"} {
			if a := u.Ask(t, http.MethodGet, "/analytics"+query, nil); a.Status != http.StatusBadRequest {
				t.Errorf("%s gets %d", query, a.Status)
			}
		}
	})
}
