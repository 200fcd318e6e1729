package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// A newcomer makes a test payment of each outcome, and a link that a customer can pay.
func TestTestPaymentsAndLinks(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		u := o.Staff(t, people.Developer)
		for outcome, want := range map[string]string{"paid": "Completed", "failed": "Failed", "expired": "Expired", "chargeback": "Dispute of", "page": "Pending"} {
			to := u.Do(t, "/payments/test", "amount", "12,30", "amount_currency", "USD", "method", "sbx_pix", "outcome", outcome, "email", "ana@example.com", "key", keyOf(t, u.Page(t, "/payments/test")))
			says(t, outcome, text(u.Page(t, to)), want, "12.30 USD")
		}
		// What the form begins with leads the way of production: page, redirect, 3-D Secure.
		page := u.Page(t, "/payments/test")
		for _, begins := range []string{`value="25.65"`, `<option value="sbx_card" selected`, `value="page" checked`} {
			if !strings.Contains(page, begins) {
				t.Errorf("the form of a test payment does not begin with %s: %s", begins, page)
			}
		}
		to := u.Do(t, "/payments/test", "amount", "25.65", "amount_currency", "USD", "method", "sbx_card", "outcome", "page", "email", "ana@example.com", "key", keyOf(t, page))
		id := to[strings.LastIndex(to, "/")+1:]
		says(t, "a card's page", text(u.Page(t, to)), "Pending", "Open")
		if _, _, h := s.Browse(t, http.MethodPost, "/sandbox/bank/"+id, "action=pay"); !strings.HasSuffix(h.Get("Location"), "?challenge=yes") {
			t.Errorf("the card's page leads to %q, not to 3-D Secure", h.Get("Location"))
		}
		s.AtBank(t, id, "confirm")
		if got := o.Status(t, id); got != "completed" {
			t.Errorf("the test payment of a card is %s", got)
		}
		k := keyOf(t, u.Page(t, "/payments/test"))
		for field, values := range map[string][]string{"amount": {"amount", "zero"}, "method": {"method", "nothing"}, "email": {"email", "ana"}} {
			form := url.Values{"amount": {"10"}, "amount_currency": {"USD"}, "method": {"sbx_card"}, "outcome": {"paid"}, "email": {""}, "key": {k}}
			form.Set(values[0], values[1])
			if a := u.Ask(t, http.MethodPost, "/payments/test", form); a.Status < 400 || a.Status >= 500 || !strings.Contains(a.Body, `id="f-`+field+`-error"`) {
				t.Errorf("a wrong %s gets %d: %s", field, a.Status, a.Text())
			}
		}
		form := url.Values{"amount": {"10"}, "amount_currency": {"USD"}, "description": {"Two tickets"}, "order": {"T-1"}, "email": {"ana@example.com"}, "key": {keyOf(t, u.Page(t, "/payments/link"))}}
		a := u.Ask(t, http.MethodPost, "/payments/link", form)
		_, rest, found := strings.Cut(a.Body, "<code>"+s.URL)
		if a.Status != http.StatusOK || !found {
			t.Fatalf("the link gets %d: %s", a.Status, a.Text())
		}
		link, _, _ := strings.Cut(rest, "<")
		if again := u.Ask(t, http.MethodPost, "/payments/link", form); !strings.Contains(again.Body, link) {
			t.Error("a second click makes another link")
		}
		res, err := http.Get(s.URL + link)
		if harness.Must(t, err); res.StatusCode != http.StatusOK {
			t.Errorf("the link gets %d", res.StatusCode)
		}
		res.Body.Close()
		form.Set("amount", "")
		form.Set("key", "another")
		if a := u.Ask(t, http.MethodPost, "/payments/link", form); !strings.Contains(a.Body, `id="f-amount-error"`) || !strings.Contains(a.Body, "Two tickets") {
			t.Errorf("a link without an amount gets %d: %s", a.Status, a.Text())
		}
		u.Live = true
		form.Set("amount", "10")
		if a := u.Ask(t, http.MethodPost, "/payments/link", form); a.Status != http.StatusUnprocessableEntity || !strings.Contains(a.Text(), "No payment method can charge in any country now.") || !strings.Contains(a.Body, "Two tickets") {
			t.Errorf("a link that nobody could pay gets %d: %s", a.Status, a.Text())
		}
		if a := u.Ask(t, http.MethodGet, "/payments/test", nil); a.Header.Get("Location") != u.At("/payments/link") {
			t.Errorf("in production a test payment leads to %d %s", a.Status, a.Header.Get("Location"))
		}
		if !audited(t, u, audit.CheckoutOpened) || !audited(t, u, audit.PaymentCreated) {
			t.Error("the audit log lacks a link or a payment")
		}
		if a := u.Ask(t, http.MethodPost, "/payments/test", url.Values{"amount": {"1"}}); a.Status < 400 || a.Status >= 500 {
			t.Errorf("a test payment in production gets %d", a.Status)
		}
	})
}
