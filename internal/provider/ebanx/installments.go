package ebanx

import (
	"slices"
	"strconv"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// plans are the installments that EBANX's page takes with a card.
type plans struct {
	offer installment.Offer
	least money.Amount // of one installment
}

// installments are by rail. In Brazil and Mexico the shopper pays what we ask for, and EBANX takes its price for the installments from the
// merchant; in Colombia the issuer adds interest. The package's comment has the sources. Webpay asks its shoppers itself.
var installments = map[string]plans{
	"card.BRA":     {installment.Offer{InterestFree: upTo(12)}, money.New(5_00, money.BRL)},
	"card.elo.BRA": {installment.Offer{InterestFree: upTo(6)}, money.New(5_00, money.BRL)},
	"card.MEX":     {installment.Offer{InterestFree: []int{3, 6, 9, 12}}, money.New(100_00, money.MXN)},
	"card.COL":     {installment.Offer{Interest: upTo(36)}, money.New(1_00, money.COP)},
}

// upTo are all numbers from 2.
func upTo(most int) (list []int) {
	for n := 2; n <= most; n++ {
		list = append(list, n)
	}
	return list
}

// Installments implements provider.Installer. The page takes a range from 1, so that a count in the middle cannot be left out.
func (a *account) Installments(rail string, local money.Amount, t installment.Terms) installment.Offer {
	p := installments[rail]
	if !local.IsZero() {
		t = t.Within(installment.Terms{Max: installment.Most, InterestFree: installment.Most, Min: p.least}).Of(local)
	}
	return p.offer.Under(t)
}

// free are the currencies of countries in which the shopper pays what we ask for.
var free = []money.Currency{money.BRL, money.MXN}

// plan is how the shopper paid. EBANX tells the count alone.
func (pa payment) plan(local money.Amount) (plan installment.Plan) {
	if plan.Count, _ = strconv.Atoi(string(pa.Count)); !plan.Known() || plan.Count > installment.Most {
		return installment.Plan{}
	}
	if slices.Contains(free, local.Currency) {
		plan.By = installment.Merchant
	}
	return plan
}
