package e2e

import (
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
)

// serves opens an account that takes Pix and SPEI in production, for sessions that somebody could
// pay; leaves ends it.
func (s *service) serves(t *testing.T) (leaves func()) {
	t.Helper()
	_, err := s.App.Accounts.Add(ctx, s.App.Self(), acquiring.NewAccount{
		ID: "somebody", Adapter: "stripe", Live: true, BaseURL: "http://127.0.0.1:1", Rails: []string{"pix.BRA", "spei.MEX"}, Priority: acquirer.DefaultPriority,
		Credentials: map[string]string{"secretKey": "sk_live_none", "webhookSecret": "whsec_none"},
	})
	must(t, err)
	return func() {
		_, err := s.App.Accounts.Enable(ctx, s.App.Self(), "somebody", false)
		must(t, err)
	}
}

// A session that no shopper could pay is refused when it is made, with what to mend, and
// not when its shopper has chosen.
func TestSessionThatNobodyCanPayIsRefused(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		o.live().post(t, "/checkout/sessions", checkout).refused(t, "422 cascade_exhausted routing_error param=country reason=no_provider_for_method_region")
		body := func(amount, country string) string {
			return `{"amount":` + amount + `,"country":"` + country + `",` + ana + `}`
		}
		o.post(t, "/checkout/sessions", body("0.01", "CO")).refused(t, "422 amount_out_of_limits invalid_request_error param=amount boundViolated=min")
		leaves := s.serves(t)
		r := o.live().post(t, "/checkout/sessions", body("25", "BR"), "Idempotency-Key: once").want(t, http.StatusCreated)
		leaves()
		same(t, r, o.live().post(t, "/checkout/sessions", body("25", "BR"), "Idempotency-Key: once"))
		o.live().post(t, "/checkout/sessions", body("25", "BR")).refused(t, "422 cascade_exhausted routing_error param=country reason=no_provider_for_method_region")
	})
}
