package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// The pages of a paused merchant begin nothing in production. The form comes back with what was typed and says why, in the
// reader's language. A form that was sent before the pause and is sent again gets what it made.
func TestPagesOfAPausedMerchantBeginNothing(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		s.OpenAccount(t, "bank-1", providertest.NewUpstream(t, "key-1"))
		o := s.NewShop(t)
		u := o.Staff(t, people.Owner)
		u.Live = true
		form := func(key, amount string) url.Values {
			return url.Values{"key": {key}, "amount": {amount}, "amount_currency": {"USD"}, "description": {"A bicycle"}, "order": {"A-17"}, "email": {""}}
		}
		made := u.Ask(t, http.MethodPost, "/payments/link", form("before", "12"))
		link := between(made.Body, "<code>", "<")
		if made.Status != http.StatusOK || link == "" {
			t.Fatalf("the link gets %d: %s", made.Status, made.Text())
		}
		_, err := s.App.Onboarding.Pause(ctx, s.App.Self(), o.Merchant.ID, "We wait for your papers")
		harness.Must(t, err)
		for language, want := range map[string]string{"en": "is paused", "es": "en pausa", "pt": "em pausa"} {
			u.Do(t, "/dashboard/profile", "name", "Ana", "language", language)
			a := u.Ask(t, http.MethodPost, "/payments/link", form("during", "13"))
			if a.Status != http.StatusForbidden || !strings.Contains(a.Body, `value="A-17"`) || !strings.Contains(a.Body, "We wait for your papers") || !strings.Contains(a.Text(), want) {
				t.Errorf("a link during the pause, in %s, gets %d: %s", language, a.Status, a.Text())
			}
		}
		if again := u.Ask(t, http.MethodPost, "/payments/link", form("before", "12")); again.Status != http.StatusOK || between(again.Body, "<code>", "<") != link {
			t.Errorf("the form from before the pause gets %d: %s", again.Status, again.Text())
		}
		if list := u.Page(t, "/payments/links"); strings.Count(list, "A bicycle") != 1 {
			t.Errorf("the links are %s", harness.Answer{Body: list}.Text())
		}
	})
}
