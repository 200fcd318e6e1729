package shape

import (
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/view"
)

// OperatorClaim is a claim of any merchant: as the merchant sees it, and whose it is.
type OperatorClaim struct {
	view.Claim
	MerchantID  string                `json:"merchantId"`
	ShopID      string                `json:"shopId"`
	Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
	Carry       bool                  `json:"carry" doc:"Its evidence waits for you to submit it in the provider's panel"`
}

// NewOperatorClaim shows a claim.
func NewOperatorClaim(c pay.Claim) OperatorClaim {
	return OperatorClaim{Claim: view.NewClaim(c), MerchantID: c.Merchant, ShopID: c.Shop, Environment: c.Environment(), Carry: c.Defense.Since > 0}
}

// ProviderNotification is a notification of a provider, as it was kept.
type ProviderNotification struct {
	ID            string      `json:"id" doc:"The account and the provider's id" example:"stripe-mx/evt_1"`
	Account       string      `json:"account"`
	TransactionID string      `json:"transactionId" doc:"Empty: the books do not have its object"`
	Verdict       pay.Verdict `json:"verdict" enum:"applied,ignored,late,mismatched,closed" doc:"mismatched: it needs you"`
	At            view.Time   `json:"at"`
	Body          string      `json:"body,omitempty" doc:"As the provider sent it; not in lists"`
}

// NewNotification shows a notification without its body.
func NewNotification(n pay.KeptNotice) ProviderNotification {
	return ProviderNotification{ID: n.ID, Account: n.Account, TransactionID: n.Payment, Verdict: n.Verdict, At: view.Time{Time: n.At}}
}

// Verification is a check of a merchant's identity.
type Verification struct {
	ID          string                       `json:"id" example:"kyc_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	MerchantID  string                       `json:"merchantId"`
	Environment merchants.Environment        `json:"environment" enum:"sandbox,production"`
	Level       merchants.KYCLevel           `json:"level" enum:"basic,enhanced"`
	Subject     merchants.KYCSubject         `json:"subject" enum:"individual,company"`
	Status      merchants.VerificationStatus `json:"status" enum:"requires_input,processing,verified,rejected,expired" doc:"processing: it waits for you"`
	Code        string                       `json:"code" doc:"Why it was rejected, for programs"`
	Message     string                       `json:"message" doc:"Why it was rejected, for people"`
	CreatedAt   view.Time                    `json:"createdAt"`
	UpdatedAt   view.Time                    `json:"updatedAt"`
	ExpiresAt   view.Time                    `json:"expiresAt"`
}

// NewVerification shows a verification.
func NewVerification(v merchants.Verification) Verification {
	return Verification{
		ID: v.ID, MerchantID: v.Merchant, Environment: v.Environment(), Level: v.Level, Subject: v.Subject, Status: v.Status, Code: v.ErrorCode, Message: v.ErrorMessage,
		CreatedAt: view.Time{Time: v.CreatedAt}, UpdatedAt: view.Time{Time: v.UpdatedAt}, ExpiresAt: view.Time{Time: v.ExpiresAt},
	}
}

// OperatorSettlement is a settlement of any merchant: as the merchant sees it, and whose it is.
type OperatorSettlement struct {
	view.Settlement
	MerchantID  string                `json:"merchantId"`
	Environment merchants.Environment `json:"environment" enum:"sandbox,production"`
	Available   *view.Money           `json:"available,omitempty" doc:"The merchant's available balance: pay at most this. Only where one settlement is read"`
}

// NewOperatorSettlement shows a settlement. publicURL is the service's own address.
func NewOperatorSettlement(s pay.Settlement, publicURL string) OperatorSettlement {
	return OperatorSettlement{Settlement: view.NewSettlement(s, publicURL), MerchantID: s.Merchant, Environment: s.Environment()}
}

// PaidSettlement is a settlement after you paid it by hand, and the withdrawal that was made for it.
type PaidSettlement struct {
	Settlement OperatorSettlement `json:"settlement"`
	Withdrawal OpenWithdrawal     `json:"withdrawal"`
}
