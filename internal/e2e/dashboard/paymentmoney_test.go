package dashboard

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// The money of a payment adds up: what is left of it after a refund and a lost dispute is what the balance has.
func TestMoneyOfAPaymentAddsUp(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		paid := func(o harness.Client) string { return o.Create(t, order(1, "ana@example.com")) }
		for name, c := range map[string]struct {
			make func(o harness.Client) (payment string)
			want []string
		}{
			"paid": {paid, nil},
			"refunded": {func(o harness.Client) string {
				o.Fund(t, false, 100_00)
				id := paid(o)
				o.Refund(t, id, "").Want(t, http.StatusOK)
				return id
			}, []string{"Your part of refunds −24.13 USD", "Customer got back 25.50 USD"}},
			"disputed": {func(o harness.Client) string {
				id, _ := o.Dispute(t, true)
				return id
			}, []string{"Dispute fee −20.00 USD", "Held for a claim 100.00 USD"}},
			"lost": {func(o harness.Client) string {
				id, claim := o.Dispute(t, true)
				o.Post(t, "/claims/"+claim+"/accept", "").Want(t, http.StatusOK)
				return id
			}, []string{"Dispute lost −100.00 USD", "Dispute fee −20.00 USD"}},
		} {
			o := s.NewShop(t)
			id := c.make(o)
			page := text(o.Staff(t, people.Finance).Page(t, "/payments/"+id))
			says(t, name, page, c.want...)
			have, err := s.App.Settlements.Balances(ctx, tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID})
			harness.Must(t, err)
			left := have[ledger.Pending] + have[ledger.Available] + have[ledger.Reserve] + have[ledger.Frozen]
			if name == "refunded" {
				left -= 100_00
			}
			want := strings.Replace(fmt.Sprintf("Left for you %.2f USD with the reserve", float64(left)/100), "-", "−", 1)
			if strings.Contains(page, want) != (name != "paid") {
				t.Errorf("%s: the page should say %q: %s", name, want, page)
			}
		}
	})
}
