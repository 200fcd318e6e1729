package mercadopago

import (
	"strconv"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/provider"
)

// mostInstallments is the largest number that a shop can choose in Mercado Pago's own plugin (WooCommerce, 4ecb9e8).
const mostInstallments = 24

// Installments implements provider.Installer: a page takes the largest number. Which ones a card has, and whether some are free of
// interest, are Mercado Pago's and the seller's panel's.
func (a *account) Installments(rail string, local money.Amount, t installment.Terms) installment.Offer {
	if way, known := railOf(rail); !known || !way.cards() {
		return installment.Offer{}
	}
	if !local.IsZero() {
		t = t.Of(local)
	}
	var offer installment.Offer
	for n := 2; n <= mostInstallments; n++ {
		offer.Interest = append(offer.Interest, n)
	}
	return offer.Under(t)
}

// plan is how the shopper paid.
func (pa payment) plan() (plan installment.Plan) {
	count, err := strconv.Atoi(string(pa.Count))
	if err != nil || count < 2 || count > installment.Most {
		return plan
	}
	plan.Count = count
	plan.Each, _ = provider.Major(string(pa.Details.Each), string(pa.CurrencyID))
	plan.Total, _ = provider.Major(string(pa.Details.Paid), string(pa.CurrencyID))
	return plan
}
