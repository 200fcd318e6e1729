package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// counted waits until a page says all of this, and fails with the page.
func counted(t *testing.T, u harness.Staff, path string, want ...string) {
	t.Helper()
	text := ""
	defer func() {
		if t.Failed() {
			t.Logf("%s says %s", path, text)
		}
	}()
	harness.Eventually(t, path+" says "+strings.Join(want, ", "), func() bool {
		text = u.Ask(t, http.MethodGet, path, nil).Text()
		for _, w := range want {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
}

// Analytics count payments by how they ended, by day and apart by everything, and compare with the days before.
func TestAnalyticsCountHowPaymentsEnded(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Viewer)
		counted(t, u, "/analytics", "No payments in these days")
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
		counted(t, u, "/analytics?days=30", "Payments 6 before: 1", "Approval rate 75.0%", "before: 100%",
			"Cash 5 2 1 0 1 1 66.7% – 51.00 USD", "Card 1 1 0 0 0 0 100% 100% 25.50 USD", "Paid volume 76.50 USD before: 25.50 USD", "Average payment 25.50 USD", "Saved by failover 0")
		counted(t, u, "/analytics?days=365", "Each point is a week.", "Payments 7 before: 0")
		counted(t, u, "/analytics?by=country", "Mexico 5 2 1 0 1 1")
		counted(t, u, "/analytics?by=band", "from 25 USD 5 3 1 0 1 75.0% 100%")
		counted(t, u, "/analytics?by=hour", s.Clock.Now().UTC().Format("15")+":00 5 3 1 0 1")
		counted(t, u, "/analytics?by=answer", "Reason Not paid Share Before Missed volume", "Nobody paid in time 1 50.0% 0 25.50 USD")
		counted(t, u, "/analytics?by=tries", "One account 5 3 1 0 1 75.0%")
		counted(t, u, "/analytics/waits", "Cash 2 100%")
		day := s.Clock.Now().UTC().Format(time.DateOnly)
		file := u.Ask(t, http.MethodGet, "/analytics/days.csv?from="+day+"&to="+day, nil)
		if want := "Day,Payments,Paid,Declined,Nobody tried,Expired,Open,Paid volume (USD),Fees (USD)"; file.Status != http.StatusOK || !strings.Contains(file.Body, want) || !strings.Contains(file.Body, day+",6,3,1,0,1,1,76.50,") {
			t.Errorf("the file of the days is %d %s", file.Status, file.Body)
		}
		if file := u.Ask(t, http.MethodGet, "/analytics/parts.csv?by=method", nil); !strings.Contains(file.Body, "cash,5,2,1,0,1,1,51.00,") {
			t.Errorf("the file of the methods is %d %s", file.Status, file.Body)
		}
		if file := u.Ask(t, http.MethodGet, "/analytics/waits.csv", nil); !strings.Contains(file.Body, "cash,2,2,0,0,0,0,0,0,0") {
			t.Errorf("the file of the waits is %d %s", file.Status, file.Body)
		}
		for _, query := range []string{"?from=2026-13-01", "?from=tomorrow", "?from=2026-11-21&to=2026-11-01", "?from=2020-01-01"} {
			for _, path := range []string{"/analytics", "/analytics/days.csv", "/analytics/checkouts", "/analytics/waits"} {
				if a := u.Ask(t, http.MethodGet, path+query, nil); a.Status != http.StatusBadRequest {
					t.Errorf("%s%s gets %d", path, query, a.Status)
				}
			}
		}
		if text := u.Ask(t, http.MethodGet, "/analytics?by=account", nil).Text(); strings.Contains(text, "Provider") || strings.Contains(text, "Attempts") {
			t.Errorf("a merchant sees providers: %s", text)
		}
	})
}

// The funnel counts each checkout once at each step that its shopper reached.
func TestFunnelCountsCheckouts(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Viewer)
		counted(t, u, "/analytics/checkouts", "No checkouts in these days")
		for step := range 4 { // 0: opened, 1: seen, 2: chosen, 3: paid
			c := o.Shopper(o.Session(t, harness.CheckoutBody))
			if step > 0 {
				c.Read(t).Want(t, http.StatusOK)
				c.Read(t).Want(t, http.StatusOK)
			}
			if step > 1 {
				id := c.Choose(t, harness.Choice("sbx_cash")).Want(t, http.StatusCreated).Text(t, "transactionId")
				if step > 2 {
					o.Simulate(t, id, "paid").Want(t, http.StatusOK)
				}
			}
		}
		o.Create(t, harness.Card) // no checkout
		counted(t, u, "/analytics/checkouts", "Opened by the shop 4 – 100% 0", "Seen by the shopper 3 75.0% 75.0% 0", "Method chosen 2 66.7% 50.0% 0", "Paid 1 50.0% 25.0% 0")
		if file := u.Ask(t, http.MethodGet, "/analytics/checkouts.csv", nil); !strings.Contains(file.Body, "Seen by the shopper,3,0") {
			t.Errorf("the file of the checkouts is %d %s", file.Status, file.Body)
		}
		harness.Must(t, s.App.Store.Rollups().Recount(t.Context())) // nothing wakes the job that counts
		for _, path := range []string{"days.csv", "parts.csv?by=method", "checkouts.csv", "waits.csv"} {
			if name := u.Ask(t, http.MethodGet, "/analytics/"+path, nil).Header.Get("Content-Disposition"); !strings.Contains(name, "-unfinished.csv") {
				t.Errorf("while payments are counted, the file's name is %s", name)
			}
		}
	})
}

// A card that was refused on its page is declined, one that nobody tried is neither declined nor expired, and each refusal counts by
// its reason, also of a payment that was paid in the end. A merchant never sees at which provider.
func TestAnalyticsCountWhatShoppersTried(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		var pages []string
		for _, tries := range [][]string{{"decline:insufficient_funds", "decline:invalid_cvc"}, {}, {"decline:insufficient_funds", "pay"}} {
			id := o.Post(t, "/payments", `{"amount":25.5,"paymentMethodId":"sbx_card","hostedCheckout":true}`, "Sandbox-Strict: true").Want(t, http.StatusCreated).Text(t, "transactionId")
			for _, try := range tries {
				s.AtBank(t, id, try)
			}
			pages = append(pages, id)
		}
		s.Clock.Advance(31 * time.Minute)
		for _, id := range pages[:2] {
			s.Sweep(t, "the page ends", func() bool { return o.Status(t, id) == "failed" })
		}
		u := o.Staff(t, people.Viewer)
		counted(t, u, "/analytics", "Approval rate 50.0%", "Card 3 1 1 1 0 0 50.0%")
		counted(t, u, "/analytics?by=answer", "Wrong security code 1 50.0%", "Nobody finished paying 1 50.0%")
		counted(t, u, "/analytics?by=refusal", "Declines Tries Share", "Insufficient funds 2 66.7%", "Wrong security code 1 33.3%")
		counted(t, u, "/analytics/waits", "Card 1 100%")
		counted(t, u, "", "50.0%")
		for _, by := range payments.OperatorGroups() {
			if text := u.Ask(t, http.MethodGet, "/analytics?by="+string(by), nil).Text(); strings.Contains(text, "sandbox-1") {
				t.Errorf("a merchant sees providers: %s", text)
			}
		}
		console := harness.OperatorUser(t, o)
		path := "/dashboard/console/analytics?environment=sandbox&by="
		for by, want := range map[string]string{
			"account": "sandbox-1 3 1 1 1 0 50.0%", "route": "sandbox-1/sbx_card 3 1 1 1 0 50.0%", "account_refusal": "sandbox-1 Insufficient funds 2 66.7%",
		} {
			if text := console.Ask(t, http.MethodGet, path+by, nil).Text(); !strings.Contains(text, want) {
				t.Errorf("by %s the operator does not see %q: %s", by, want, text)
			}
		}
	})
}

// Operators see the payments of all shops, and the attempts at each provider account.
func TestOperatorsSeeAnalyticsOfAllShops(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)
		o.Create(t, harness.Card)
		other.Create(t, harness.Card)
		u := harness.OperatorUser(t, o)
		path := "/dashboard/console/analytics?environment=sandbox"
		text := ""
		t.Cleanup(func() {
			if t.Failed() {
				t.Log(text)
			}
		})
		harness.Eventually(t, "the console counts both shops' payments", func() bool {
			text = u.Ask(t, http.MethodGet, path+"&by=account", nil).Text()
			return strings.Contains(text, "Payments 2 before: 0") && strings.Contains(text, "Attempts Paid Declined Nobody tried Expired Approval rate") && strings.Contains(text, "sandbox-1 2 2 0 0 0 100%")
		})
		if text := u.Ask(t, http.MethodGet, "/dashboard/console/analytics", nil).Text(); !strings.Contains(text, "No payments in these days") {
			t.Errorf("production shows %s", text)
		}
		if file := u.Ask(t, http.MethodGet, "/dashboard/console/analytics/parts.csv?environment=sandbox&by=method", nil); !strings.Contains(file.Body, "card,2,2,0,0,0,0,51.00,") {
			t.Errorf("the file is %d %s", file.Status, file.Body)
		}
	})
}
