package payments

import (
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// termsDoc is the installments that a shopper may choose.
type termsDoc struct {
	Max  int        `json:"max"`
	Free int        `json:"interestFree,omitempty"`
	Min  *amountDoc `json:"min,omitempty"`
}

// termsDocOf returns nil for a payment at once.
func termsDocOf(t installment.Terms) *termsDoc {
	if t == (installment.Terms{}) {
		return nil
	}
	return &termsDoc{t.Max, t.InterestFree, amountDocOf(t.Min)}
}

func (d *termsDoc) terms() installment.Terms {
	if d == nil {
		return installment.Terms{}
	}
	return installment.Terms{Max: d.Max, InterestFree: d.Free, Min: d.Min.amount()}
}

// planDoc is the installments that a shopper chose. The amounts are minor units of the payment's currency; 0: not known.
type planDoc struct {
	Count int               `json:"count"`
	Each  int64             `json:"each,omitempty"`
	Total int64             `json:"total,omitempty"`
	By    installment.Payer `json:"by,omitempty"`
}

// planDocOf returns nil for a payment at once.
func planDocOf(p installment.Plan) *planDoc {
	if !p.Known() {
		return nil
	}
	return &planDoc{p.Count, p.Each.Minor, p.Total.Minor, p.By}
}

func (d *planDoc) plan(c money.Currency) installment.Plan {
	if d == nil {
		return installment.Plan{}
	}
	p := installment.Plan{Count: d.Count, By: d.By}
	if d.Each > 0 {
		p.Each = money.New(d.Each, c)
	}
	if d.Total > 0 {
		p.Total = money.New(d.Total, c)
	}
	return p
}
