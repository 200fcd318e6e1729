package view

import (
	"net/url"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// Refund is a refund's claim as the refund call shows it (contract: Refund).
type Refund struct {
	RefundID      string          `json:"refundId"`
	TransactionID string          `json:"transactionId"`
	Amount        Money           `json:"amount" doc:"Local currency"`
	AmountUSD     Money           `json:"amountUsd"`
	Currency      money.Currency  `json:"currency"`
	Status        pay.ClaimStatus `json:"status"`
	Reason        *string         `json:"reason"`
	CreatedAt     Time            `json:"createdAt"`
}

// NewRefund shows a refund.
func NewRefund(r pay.Refund) Refund {
	return Refund{
		RefundID: r.ID, TransactionID: r.Payment, Amount: Money{r.Local}, AmountUSD: USD(r.USD),
		Currency: r.Local.Currency, Status: r.Status, Reason: text(r.Reason), CreatedAt: Time{r.CreatedAt},
	}
}

// Claim is a demand to give money back (gaps: Claims).
type Claim struct {
	ID                string              `json:"id"`
	Type              pay.ClaimKind       `json:"type" enum:"user_dispute,chargeback,inquiry"`
	Status            pay.ClaimStatus     `json:"status" enum:"pending,needs_evidence,under_review,approved,rejected,expired,withdrawn"`
	Outcome           *string             `json:"outcome"`
	TransactionID     string              `json:"transactionId"`
	MerchantOrderID   *string             `json:"merchantOrderId"`
	Amount            Money               `json:"amount" doc:"Local currency"`
	Currency          money.Currency      `json:"currency"`
	AmountUSD         Money               `json:"amountUsd"`
	FrozenUSD         Money               `json:"frozenUsd"`
	FeeUSD            Money               `json:"feeUsd"`
	Reason            *string             `json:"reason"`
	NetworkReasonCode *string             `json:"networkReasonCode"`
	EvidenceDueBy     *Time               `json:"evidenceDueBy" nullable:"true"`
	Evidence          []struct{}          `json:"evidence"`
	Timeline          []ClaimStep         `json:"timeline"`
	CreatedAt         Time                `json:"createdAt"`
	UpdatedAt         Time                `json:"updatedAt"`
	ResolvedAt        *Time               `json:"resolvedAt" nullable:"true"`
	Transaction       *TransactionSummary `json:"transaction,omitempty" doc:"In events"`
}

// ClaimStep is one line of a claim's history.
type ClaimStep struct {
	Status pay.ClaimStatus `json:"status"`
	At     Time            `json:"at"`
	Actor  string          `json:"actor"`
	Note   *string         `json:"note"`
}

// TransactionSummary is what a claim's event tells of its payment.
type TransactionSummary struct {
	ID              string         `json:"id"`
	Status          pay.Status     `json:"status"`
	Amount          Money          `json:"amount"`
	Currency        string         `json:"currency"`
	AmountLocal     Money          `json:"amountLocal"`
	CurrencyLocal   money.Currency `json:"currencyLocal"`
	PaymentMethodID string         `json:"paymentMethodId"`
	Country         string         `json:"country"`
	MerchantOrderID *string        `json:"merchantOrderId"`
}

// NewClaim shows a claim.
func NewClaim(c pay.Claim) Claim {
	v := Claim{
		ID: c.ID, Type: c.Kind, Status: c.Status, TransactionID: c.Payment, MerchantOrderID: text(c.OrderID),
		Amount: Money{c.Local}, Currency: c.Local.Currency, AmountUSD: USD(c.USD), FrozenUSD: USD(c.Frozen), FeeUSD: USD(c.Fee),
		Reason: text(c.Reason), EvidenceDueBy: at(c.DueBy), Evidence: []struct{}{}, Timeline: []ClaimStep{},
		CreatedAt: Time{c.CreatedAt}, UpdatedAt: Time{c.UpdatedAt}, ResolvedAt: at(c.Resolved),
	}
	for _, s := range c.Timeline {
		v.Timeline = append(v.Timeline, ClaimStep{s.Status, Time{timeOf(s.At)}, s.Actor, text(s.Note)})
	}
	return v
}

func newSummary(p pay.Payment) *TransactionSummary {
	return &TransactionSummary{
		ID: p.ID, Status: p.Status, Amount: Money{p.Amount}, Currency: string(p.Amount.Currency),
		AmountLocal: Money{p.Local}, CurrencyLocal: p.Local.Currency, PaymentMethodID: p.RailID,
		Country: p.Country, MerchantOrderID: text(p.OrderID),
	}
}

// CheckoutURL is the hosted page of a payment (contract: Checkout session).
func CheckoutURL(base string, p pay.Payment) string {
	address := base + "/c/" + p.ID
	if p.ReturnURL != "" {
		address += "?" + url.Values{"returnUrl": {p.ReturnURL}}.Encode()
	}
	return address
}

// PageURL is our own page of a payment, for providers that have none.
func PageURL(base, payment string) string { return base + "/pay/" + payment }
