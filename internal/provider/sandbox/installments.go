package sandbox

import (
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/provider"
)

// longest is the largest number of installments that the simulated issuer offers.
const longest = 24

// monthly is the interest that the simulated issuer adds for each installment, in basis points of the amount.
const monthly = 2_00

// Installments implements provider.Installer: every number up to longest, with or without interest (SBX-17).
func (p *Provider) Installments(_ string, _ money.Amount, t installment.Terms) installment.Offer {
	var all []int
	for n := 2; n <= longest; n++ {
		all = append(all, n)
	}
	return installment.Offer{InterestFree: all, Interest: all}.Under(t)
}

// Plans are what a shopper of the simulated issuer may choose under terms, ascending; none if the shopper pays at once.
func Plans(local money.Amount, t installment.Terms) (list []installment.Plan) {
	for n := 2; n <= min(t.Max, longest); n++ {
		plan := installment.Plan{Count: n, Total: local, By: installment.Merchant}
		if n > t.InterestFree {
			plan.Total, plan.By = local.Add(local.Share(monthly*int64(n), money.Up)), installment.Shopper
		}
		list = append(list, plan.For(local))
	}
	return list
}

// chosen is the plan of a card without a page: the most installments that the terms allow.
func chosen(r provider.Request) installment.Plan {
	plans := Plans(r.Local, r.Installments)
	if len(plans) == 0 {
		return installment.Plan{}
	}
	return plans[len(plans)-1]
}

// planned is the plan that a notification reports.
func (n Notification) planned(local money.Amount) (installment.Plan, error) {
	if n.Installments < 2 {
		return installment.Plan{}, nil
	}
	total, err := money.Parse(n.Total, local.Currency)
	return installment.Plan{Count: n.Installments, Total: total, By: installment.Payer(n.Interest)}, err
}
