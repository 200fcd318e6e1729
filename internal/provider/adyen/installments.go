package adyen

import (
	"strconv"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// plans are the numbers of installments by rail, for a card of the country. The merchant bears their price.
var plans = map[string]installment.Offer{
	"card.BRA": {InterestFree: []int{2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
	"card.MEX": {InterestFree: []int{3, 6, 9, 12}},
}

// Installments implements provider.Installer: a link has the numbers that it is given.
func (p *Provider) Installments(rail string, local money.Amount, t installment.Terms) installment.Offer {
	if !local.IsZero() {
		t = t.Of(local)
	}
	return plans[rail].Under(t)
}

// plan is how the shopper paid.
func (i item) plan() (plan installment.Plan) {
	count, err := strconv.Atoi(i.more("installments.value"))
	if err != nil || count < 2 || count > installment.Most {
		return plan
	}
	return installment.Plan{Count: count}
}
