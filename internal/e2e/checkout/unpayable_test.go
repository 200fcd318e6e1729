package checkout

import (
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// A session that no shopper could pay is refused when the shop makes it, with the parameter to
// change, and not only when the shopper chooses.
func TestSessionThatNobodyCanPayIsRefused(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		o.Production().Post(t, "/checkout/sessions", harness.CheckoutBody).Refused(t, "422 cascade_exhausted routing_error param=country reason=no_provider_for_method_region")
		body := func(amount, country string) string {
			return `{"amount":` + amount + `,"country":"` + country + `",` + harness.Ana + `}`
		}
		o.Post(t, "/checkout/sessions", body("0.01", "CO")).Refused(t, "422 amount_out_of_limits invalid_request_error param=amount boundViolated=min")
		leaves := harness.OpenPixAndSPEI(t, s)
		r := o.Production().Post(t, "/checkout/sessions", body("25", "BR"), "Idempotency-Key: once").Want(t, http.StatusCreated)
		leaves()
		harness.Same(t, r, o.Production().Post(t, "/checkout/sessions", body("25", "BR"), "Idempotency-Key: once"))
		o.Production().Post(t, "/checkout/sessions", body("25", "BR")).Refused(t, "422 cascade_exhausted routing_error param=country reason=no_provider_for_method_region")
	})
}
