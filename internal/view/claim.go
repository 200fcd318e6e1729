package view

import (
	"net/url"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

// Refund is a refund's claim as the refund call returns it (REF-3).
type Refund struct {
	RefundID      string          `json:"refundId" example:"CLM-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6" doc:"Id of its claim: GET /claims/{id} shows its outcome"`
	TransactionID string          `json:"transactionId"`
	Amount        Money           `json:"amount" doc:"Local currency"`
	AmountUSD     Money           `json:"amountUsd"`
	Currency      money.Currency  `json:"currency" doc:"The local currency of the transaction"`
	Status        pay.ClaimStatus `json:"status" enum:"pending,approved" doc:"pending on creation; claim.resolved tells the outcome. In events approved, if the provider or the operator made it already"`
	Reason        *string         `json:"reason" personal:"text"`
	Origin        pay.Origin      `json:"origin" enum:"merchant,provider,operator" doc:"Who gave the money back: merchant asked for the refund; provider made it without that; operator made it by hand"`
	CreatedAt     Time            `json:"createdAt"`
}

// NewRefund shows a refund.
func NewRefund(r pay.Refund) Refund {
	return Refund{
		RefundID: r.ID, TransactionID: r.Payment, Amount: Money{r.Local}, AmountUSD: USD(r.USD),
		Currency: r.Local.Currency, Status: r.Status, Reason: text(r.Reason), Origin: r.Origin, CreatedAt: Time{r.CreatedAt},
	}
}

// Claim is a demand to give money back (CLAIM-15).
type Claim struct {
	ID                string              `json:"id" example:"CLM-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Type              pay.ClaimKind       `json:"type" enum:"user_dispute,chargeback,inquiry" doc:"user_dispute is a refund; inquiry is money that came after its transaction had ended"`
	Status            pay.ClaimStatus     `json:"status" enum:"pending,needs_evidence,under_review,approved,rejected,expired,withdrawn"`
	Outcome           *string             `json:"outcome" doc:"null until resolved; approved: the shopper gets the money, also if the claim expired"`
	TransactionID     string              `json:"transactionId"`
	MerchantOrderID   *string             `json:"merchantOrderId"`
	PreviousClaimID   *string             `json:"previousClaimId" doc:"The claim that ended before this one opened: of the same dispute, or the refund that failed after it was confirmed"`
	Origin            *string             `json:"origin" doc:"Of a refund, merchant (it asked for it), provider (it gave the money back without that) or operator (by hand); else null"`
	Amount            Money               `json:"amount" doc:"Local currency; for a chargeback: the disputed amount, which may be a part of the transaction"`
	Currency          money.Currency      `json:"currency"`
	AmountUSD         Money               `json:"amountUsd"`
	FrozenUSD         Money               `json:"frozenUsd" doc:"Part of the balance that is held now"`
	FeeUSD            Money               `json:"feeUsd" doc:"The price of a chargeback, whatever its outcome, the tax on it included"`
	FeeTax            *FeeTax             `json:"feeTax,omitempty" doc:"The tax in feeUsd; left out if there is none"`
	Reason            *string             `json:"reason" personal:"text"`
	NetworkReasonCode *string             `json:"networkReasonCode"`
	EvidenceDueBy     *Time               `json:"evidenceDueBy" nullable:"true" doc:"Without evidence by then the claim expires"`
	Evidence          []Evidence          `json:"evidence"`
	Timeline          []ClaimStep         `json:"timeline"`
	CreatedAt         Time                `json:"createdAt"`
	UpdatedAt         Time                `json:"updatedAt"`
	ResolvedAt        *Time               `json:"resolvedAt" nullable:"true"`
	Transaction       *TransactionSummary `json:"transaction,omitempty" doc:"In events"`
}

// Evidence is the merchant's answer to a claim.
type Evidence struct {
	ID          string        `json:"id" example:"ev_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Kind        string        `json:"kind" personal:"kind"`
	Text        *string       `json:"text" personal:"text"`
	File        *EvidenceFile `json:"file"`
	SubmittedAt Time          `json:"submittedAt"`
}

// EvidenceFile describes a file; its content has its own endpoint.
type EvidenceFile struct {
	Name        string `json:"name" personal:"text"`
	ContentType string `json:"contentType"`
	Size        int64  `json:"size" doc:"Bytes"`
	SHA256      string `json:"sha256" doc:"Hex"`
}

// ClaimStep is one line of a claim's history.
type ClaimStep struct {
	Status pay.ClaimStatus `json:"status" enum:"pending,needs_evidence,under_review,approved,rejected,expired,withdrawn"`
	At     Time            `json:"at"`
	Actor  string          `json:"actor" enum:"merchant,issuer,provider,operator,system"`
	Note   *string         `json:"note" personal:"text"`
}

// TransactionSummary is the payment's part of a claim's event.
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
		PreviousClaimID: text(c.Previous), Origin: text(string(c.Origin)),
		Amount: Money{c.Local}, Currency: c.Local.Currency, AmountUSD: USD(c.USD), FrozenUSD: USD(c.Frozen), FeeUSD: USD(c.Fee), FeeTax: newFeeTax(c.Taxed, c.Tax),
		Reason: text(c.Reason), NetworkReasonCode: text(c.Network), EvidenceDueBy: at(c.DueBy),
		Evidence: make([]Evidence, 0, len(c.Evidence)), Timeline: make([]ClaimStep, 0, len(c.Timeline)),
		CreatedAt: Time{c.CreatedAt}, UpdatedAt: Time{c.UpdatedAt}, ResolvedAt: at(c.Resolved),
	}
	v.Outcome = outcome(c.Status)
	for _, e := range c.Evidence {
		item := Evidence{ID: e.ID, Kind: e.Kind, Text: text(e.Text), SubmittedAt: Time{timeOf(e.At)}}
		if f := e.File; f != nil {
			item.File = &EvidenceFile{Name: f.Name, ContentType: f.Type, Size: f.Size, SHA256: f.SHA256}
		}
		v.Evidence = append(v.Evidence, item)
	}
	for _, s := range c.Timeline {
		v.Timeline = append(v.Timeline, ClaimStep{s.Status, Time{timeOf(s.At)}, s.Actor, text(s.Note)})
	}
	return v
}

// outcome is how a claim ended, nil while it is open. An expired one counts as approved.
func outcome(s pay.ClaimStatus) *string {
	switch {
	case !s.Terminal():
		return nil
	case s.Pays():
		s = pay.ClaimApproved
	}
	return text(string(s))
}

func newSummary(p *pay.Payment) *TransactionSummary {
	return &TransactionSummary{
		ID: p.ID, Status: p.Status, Amount: Money{p.Price.Amount}, Currency: string(p.Price.Amount.Currency),
		AmountLocal: Money{p.Price.Local}, CurrencyLocal: p.Price.Local.Currency, PaymentMethodID: p.Way.RailID,
		Country: p.Way.Country, MerchantOrderID: text(p.Order.ID),
	}
}

// CheckoutURL is the hosted page of a payment (CHK-2).
func CheckoutURL(base string, p *pay.Payment) string {
	address := base + "/c/" + p.ID
	if p.Page.ReturnURL != "" {
		address += "?" + url.Values{"returnUrl": {p.Page.ReturnURL}}.Encode()
	}
	return address
}

// PageKeyParam is the name of a page's key in its address.
const PageKeyParam = "key"

// Keyed adds the key of a payment's page to an address of it, for the shopper.
func Keyed(address, key string) string {
	mark := "?"
	if strings.Contains(address, "?") {
		mark = "&"
	}
	return address + mark + PageKeyParam + "=" + key
}

// PageURL is our own payment page, for providers that have none.
func PageURL(base, payment string) string { return base + "/pay/" + payment }
