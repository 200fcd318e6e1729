package payments

import (
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

// planDoc is the installments that a shopper chose.
type planDoc struct {
	Count int               `json:"count"`
	Each  *amountDoc        `json:"each,omitempty"`
	Total *amountDoc        `json:"total,omitempty"`
	By    installment.Payer `json:"by,omitempty"`
}

// planDocOf returns nil for a payment at once.
func planDocOf(p installment.Plan) *planDoc {
	if p == (installment.Plan{}) {
		return nil
	}
	return &planDoc{
		Count: p.Count,
		Each:  amountDocOf(p.Each),
		Total: amountDocOf(p.Total),
		By:    p.By,
	}
}

func (d *planDoc) plan() installment.Plan {
	if d == nil {
		return installment.Plan{}
	}
	return installment.Plan{Count: d.Count, Each: d.Each.amount(), Total: d.Total.amount(), By: d.By}
}
