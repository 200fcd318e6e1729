package view

import (
	"slices"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/installment"
)

// Installments is how the shopper paid by card in installments (PAY-43).
type Installments struct {
	Count       int64   `json:"count"`
	AmountLocal *Money  `json:"amountLocal" doc:"One installment, in currencyLocal, rounded up: if totalLocal is not count times this, the issuer charges one of them a little less or more; null if the provider does not say"`
	TotalLocal  *Money  `json:"totalLocal" doc:"What the shopper pays in all, interest included, in currencyLocal; null if the provider does not say. The transaction's amount stays what the merchant is paid"`
	PaidBy      *string `json:"paidBy" enum:"merchant,shopper" doc:"Who bears the interest; null if the provider does not say"`
}

// newInstallments is nil for a payment at once.
func newInstallments(p *pay.Payment) *Installments {
	plan := p.End.Plan
	if !plan.Known() {
		return nil
	}
	shown := func(a money.Amount) *Money {
		if a.IsZero() {
			return nil
		}
		return &Money{a}
	}
	return &Installments{Count: int64(plan.Count), AmountLocal: shown(plan.Each), TotalLocal: shown(plan.Total), PaidBy: text(string(plan.By))}
}

// MethodInstallments is what shoppers may choose over a method.
type MethodInstallments struct {
	Max          int               `json:"max" doc:"The most installments that a shopper may choose"`
	InterestFree []int             `json:"interestFree" doc:"The numbers of installments for which the merchant can bear the interest, ascending"`
	Steps        []InstallmentStep `json:"steps" doc:"From which amount on the merchant's terms allow how many, ascending. A request for more than its amount's step is refused"`
}

// InstallmentStep is what shoppers may choose from an amount on.
type InstallmentStep struct {
	From         *Money  `json:"from" nullable:"true" doc:"The least amount of a payment, in currency; null: any"`
	Currency     *string `json:"currency" doc:"In which the shopper pays; null: any"`
	Max          int     `json:"max"`
	InterestFree []int   `json:"interestFree"`
}

// NewMethodInstallments is nil for a method without installments.
func NewMethodInstallments(o installment.Offer, steps []installment.Step) *MethodInstallments {
	if o.Max() == 0 {
		return nil
	}
	free := func(o installment.Offer) []int { return append([]int{}, slices.Clone(o.InterestFree)...) }
	m := &MethodInstallments{o.Max(), free(o), []InstallmentStep{}}
	for _, s := range steps {
		step := InstallmentStep{Max: s.Offer.Max(), InterestFree: free(s.Offer)}
		if s.From.IsPositive() {
			step.From, step.Currency = &Money{s.From}, text(string(s.From.Currency))
		}
		m.Steps = append(m.Steps, step)
	}
	return m
}
