package e2e

import (
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
)

// TakePixAndSPEI opens an account that takes Pix and SPEI in production, for sessions that somebody could
// pay; leaves ends it.
func TakePixAndSPEI(t *testing.T, s *Instance) (leaves func()) {
	t.Helper()
	_, err := s.App.Accounts.Add(ctx, s.App.Self(), acquiring.NewAccount{
		ID: "somebody", Adapter: "stripe", Live: true, BaseURL: "http://127.0.0.1:1", Rails: []string{"pix.BRA", "spei.MEX"}, Priority: acquirer.DefaultPriority,
		Credentials: map[string]string{"secretKey": "sk_live_none", "webhookSecret": "whsec_none"},
	})
	Must(t, err)
	return func() {
		_, err := s.App.Accounts.Enable(ctx, s.App.Self(), "somebody", false)
		Must(t, err)
	}
}

// A session that no shopper could pay is refused when it is made, with what to mend, and
// not when its shopper has chosen.
func TestSessionThatNobodyCanPayIsRefused(t *testing.T) {
	Each(t, func(t *testing.T, s *Instance) {
		o := s.NewShop(t)
		o.Production().Post(t, "/checkout/sessions", CheckoutBody).Refused(t, "422 cascade_exhausted routing_error param=country reason=no_provider_for_method_region")
		body := func(amount, country string) string {
			return `{"amount":` + amount + `,"country":"` + country + `",` + Ana + `}`
		}
		o.Post(t, "/checkout/sessions", body("0.01", "CO")).Refused(t, "422 amount_out_of_limits invalid_request_error param=amount boundViolated=min")
		leaves := TakePixAndSPEI(t, s)
		r := o.Production().Post(t, "/checkout/sessions", body("25", "BR"), "Idempotency-Key: once").Want(t, http.StatusCreated)
		leaves()
		Same(t, r, o.Production().Post(t, "/checkout/sessions", body("25", "BR"), "Idempotency-Key: once"))
		o.Production().Post(t, "/checkout/sessions", body("25", "BR")).Refused(t, "422 cascade_exhausted routing_error param=country reason=no_provider_for_method_region")
	})
}
