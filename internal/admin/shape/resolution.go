package shape

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/view"
)

// ResolvedPayment is a payment after the operator resolved it.
type ResolvedPayment struct {
	ID       string          `json:"id" example:"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Status   pay.Status      `json:"status" enum:"pending,processing,completed,failed,expired,refunded,chargeback"`
	Provider pay.OutcomeKind `json:"provider" enum:"approved,reversed,pending,declined,unknown,missing,expired" doc:"What the provider said when it was asked"`
}

// ResolvedWithdrawal is a withdrawal after the operator resolved it.
type ResolvedWithdrawal struct {
	ID       string               `json:"id" example:"wdr_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Status   pay.WithdrawalStatus `json:"status" enum:"pending,processing,completed,failed,canceled"`
	Provider pay.PayoutKind       `json:"provider" enum:"paid,rejected,accepted,unknown,missing" doc:"What the payout provider said when it was asked"`
}

// ResolvedClaim is a claim after the operator resolved it.
type ResolvedClaim struct {
	ID      string          `json:"id" example:"CLM-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Status  pay.ClaimStatus `json:"status" enum:"pending,needs_evidence,under_review,approved,rejected,expired,withdrawn" doc:"Not final while a refund is under way: its provider has not confirmed it"`
	Payment string          `json:"transactionId" example:"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

// UnsurePayment is a payment with an unknown outcome.
type UnsurePayment struct {
	ID      string     `json:"id" example:"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Status  pay.Status `json:"status" enum:"pending,processing,failed,expired"`
	Account string     `json:"account" example:"stripe-mx" doc:"Where it is, or may be"`
	Since   view.Time  `json:"since"`
	Asked   int        `json:"asked" doc:"Queries in a row without a result"`
}

// NewUnsurePayment shows a payment.
func NewUnsurePayment(p pay.Payment) UnsurePayment {
	attempt, _ := p.Attempts.Current()
	return UnsurePayment{ID: p.ID, Status: p.Status, Account: attempt.Provider, Since: view.Time{Time: p.Times.Unsure}, Asked: attempt.Unanswered}
}
