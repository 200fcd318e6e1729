package claims

import (
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// Money of an absurd amount is for the operator, and breaks no sum: the next money is still booked, and the books can be read.
func TestAbsurdAmountsBreakNoSum(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		first, second := o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`), o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		for _, n := range []string{
			harness.Note(first, `"status":"paid","currency":"USD","amount":"92233720368547758.07","money":"m1"`),
			harness.Note(second, `"status":"paid","currency":"USD","amount":"92233720368547758.07","money":"m2"`),
			harness.Note(second, `"status":"paid","currency":"USD","amount":"7.00","money":"m3"`),
		} {
			if r := o.Notify(t, "sandbox-1", n); r.Status != http.StatusOK {
				t.Errorf("%s gets %d", n, r.Status)
			}
		}
		if broken, err := s.App.Check(ctx); err != nil || len(broken) > 0 {
			t.Errorf("check: %v, %v", broken, err)
		}
		o.Get(t, "/me/balance").Want(t, http.StatusOK)
	})
}
