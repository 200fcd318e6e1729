package stripe

import (
	"slices"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// plans are the numbers of installments that Stripe has in Mexico. A payment has at least 100 pesos for each, unless the
// Dashboard has other limits.
var plans = []int{3, 6, 9, 12, 18, 24}

// perPlan is the least payment for one installment.
var perPlan = money.New(100_00, money.MXN)

// Installments implements provider.Installer. A session has all plans of the Dashboard or none, so there are some only if the terms allow the
// longest of them, all without interest: the merchant bears the fee.
func (p *Provider) Installments(rail string, local money.Amount, t installment.Terms) installment.Offer {
	if !local.IsZero() {
		t = t.Of(local)
	}
	if rail != "card.MEX" || !local.IsZero() && local.Currency != money.MXN || min(t.Max, t.InterestFree) < p.longest {
		return installment.Offer{}
	}
	return installment.Offer{InterestFree: slices.DeleteFunc(slices.Clone(plans), func(n int) bool {
		return n > p.longest || !local.IsZero() && local.Minor < int64(n)*perPlan.Minor
	})}
}

// charged is what the last try of an intent charged.
type charged struct {
	ID      string `json:"id"`
	Details struct {
		Card struct {
			Installments struct {
				Plan struct {
					Count int `json:"count"`
				} `json:"plan"`
			} `json:"installments"`
		} `json:"card"`
	} `json:"payment_method_details"`
}

func (c charged) key() string     { return c.ID }
func (charged) reference() string { return "" }

// plan is how the shopper paid, if the intent was read with its charge.
func (i intent) plan() (plan installment.Plan) {
	if c := i.Charge.value; c != nil && c.Details.Card.Installments.Plan.Count > 1 && c.Details.Card.Installments.Plan.Count <= installment.Most {
		return installment.Plan{Count: c.Details.Card.Installments.Plan.Count, By: installment.Merchant}
	}
	return plan
}
