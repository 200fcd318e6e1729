package conekta

import (
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// plans are the numbers of months without interest: the merchant bears their price.
var plans = installment.Offer{InterestFree: []int{3, 6, 9, 12, 18}}

// leastMonth is the least amount of one month.
var leastMonth = money.New(100_00, money.MXN)

// Installments implements provider.Installer: a page has the numbers that it is given.
func (a *account) Installments(rail string, local money.Amount, t installment.Terms) installment.Offer {
	if rail != card {
		return installment.Offer{}
	}
	if !local.IsZero() {
		t = t.Within(installment.Terms{Max: installment.Most, InterestFree: installment.Most, Min: leastMonth}).Of(local)
	}
	return plans.Under(t)
}

// plan is how the shopper paid the charge of a money.
func (o order) plan(ref string) (plan installment.Plan) {
	for _, c := range o.charges() {
		if string(c.ID) == ref && c.Months > 1 && c.Months <= installment.Most {
			return installment.Plan{Count: int(c.Months), By: installment.Merchant}
		}
	}
	return plan
}
