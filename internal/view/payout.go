package view

import (
	"cmp"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

// Wallet is where withdrawals are paid to (PAYOUT-1). It never shows the destination itself.
type Wallet struct {
	ID                string           `json:"id" example:"wal_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Label             *string          `json:"label" personal:"text"`
	Type              pay.WalletType   `json:"type" enum:"bank_account,crypto"`
	Currency          string           `json:"currency" doc:"ISO 4217, or a token such as USDT" example:"MXN"`
	Network           string           `json:"network" enum:"spei,pix,ted,cbu,iban,account,tron,ethereum,bitcoin"`
	DestinationMasked string           `json:"destinationMasked" example:"032****9719"`
	Status            pay.WalletStatus `json:"status" enum:"pending_verification,active,disabled"`
	IsDefault         bool             `json:"isDefault" doc:"The wallet of withdrawals that name none"`
	Payable           bool             `json:"payable" doc:"Whether a withdrawal to it can be made now"`
	UnpayableReason   *string          `json:"unpayableReason" doc:"Why not: cool_down, disabled (it was deleted), kyc_required, no_payout_account (the operator has none that pays out to it), beneficiary_incomplete (the accounts that could pay need more of the holder's details), or no_rate (of its currency)"`
	Beneficiary       []string         `json:"beneficiary" doc:"Which fields of the holder are known; their values are never shown" example:"[\"holderName\",\"holderDocument\"]"`
	CreatedAt         Time             `json:"createdAt"`
}

// NewWallet shows a wallet, and why it cannot be paid now.
func NewWallet(w pay.Wallet, why pay.Unpayable) Wallet {
	return Wallet{
		ID: w.ID, Label: text(w.Label), Type: w.Type, Currency: w.Currency, Network: w.Network,
		DestinationMasked: w.Masked, Status: w.Status, IsDefault: w.Default, Payable: why == pay.Payable, UnpayableReason: text(string(why)),
		Beneficiary: append([]string{}, w.Known...),
		CreatedAt:   Time{w.CreatedAt},
	}
}

// Withdrawal is money on its way to a wallet (PAYOUT-3).
type Withdrawal struct {
	ID             string               `json:"id" example:"wdr_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	WalletID       string               `json:"walletId"`
	Amount         Money                `json:"amount" doc:"What left the available balance, the fee included"`
	Currency       string               `json:"currency" enum:"USD"`
	FeeUSD         Money                `json:"feeUsd" doc:"The tax on it included"`
	FeeTax         *FeeTax              `json:"feeTax,omitempty" doc:"The tax in feeUsd; left out if there is none"`
	NetAmount      Money                `json:"netAmount" doc:"amount less feeUsd: what is paid out"`
	Payout         *Payout              `json:"payout" doc:"What arrives; null for a token, which is paid at the value of netAmount"`
	ReturnedAmount Money                `json:"returnedAmount" doc:"USD that came back after the payout had arrived, and is in the balance again"`
	Covers         []CoveredSettlement  `json:"covers" doc:"The settlements that it pays out, oldest first. A withdrawal that the merchant makes covers them once it has arrived"`
	Status         pay.WithdrawalStatus `json:"status" enum:"pending,processing,completed,failed,canceled"`
	PendingReason  *string              `json:"pendingReason" doc:"Why it has not been sent, or not been sent again, although it is due: no_payout_account, payout_delayed (no account pays it now), beneficiary_incomplete, or a limit; null if nothing holds it back"`
	FailureCode    *string              `json:"failureCode"`
	FailureMessage *string              `json:"failureMessage"`
	Reference      string               `json:"reference" doc:"Names the payout at the bank or network: by the bank's own name of it once it is known"`
	CreatedAt      Time                 `json:"createdAt"`
	CompletedAt    *Time                `json:"completedAt" nullable:"true"`
	FailedAt       *Time                `json:"failedAt" nullable:"true"`
}

// CoveredSettlement is the part of a settlement's net that a withdrawal pays out (SETTLE-11).
type CoveredSettlement struct {
	SettlementID string `json:"settlementId" example:"STL-06EN7G7FQR8N7M5D5S2Q9K1V3W"`
	Amount       Money  `json:"amount" doc:"USD"`
}

func newCovers(list []pay.Covered) []CoveredSettlement {
	shown := make([]CoveredSettlement, 0, len(list))
	for _, c := range list {
		shown = append(shown, CoveredSettlement{c.Settlement, USD(c.Amount)})
	}
	return shown
}

// Payout is the amount that arrives at a wallet, fixed when the withdrawal is made.
type Payout struct {
	Amount   Money  `json:"amount" doc:"Major units of currency"`
	Currency string `json:"currency" example:"MXN"`
	Rate     Rate   `json:"rate" doc:"Of one USD"`
	RateAt   Time   `json:"rateAt" doc:"When the rate was read"`
}

func newPayout(c rates.Conversion) *Payout {
	if c.Local == (money.Amount{}) {
		return nil
	}
	return &Payout{Amount: Money{c.Local}, Currency: string(c.Local.Currency), Rate: Rate{c.Rate}, RateAt: Time{c.RateAt}}
}

// WithdrawalQuote is the cost and result of a possible withdrawal.
type WithdrawalQuote struct {
	WalletID  string  `json:"walletId"`
	Amount    Money   `json:"amount" doc:"What would leave the available balance, the fee included"`
	Currency  string  `json:"currency" enum:"USD"`
	FeeUSD    Money   `json:"feeUsd" doc:"The tax on it included"`
	FeeTax    *FeeTax `json:"feeTax,omitempty" doc:"The tax in feeUsd; left out if there is none"`
	NetAmount Money   `json:"netAmount" doc:"amount less feeUsd: what is paid out"`
	Payout    *Payout `json:"payout" doc:"What would arrive at the current rate; null for a token, which is paid at the value of netAmount"`
}

// NewWithdrawalQuote shows a possible withdrawal.
func NewWithdrawalQuote(w pay.Withdrawal) WithdrawalQuote {
	return WithdrawalQuote{WalletID: w.Wallet, Amount: USD(w.Amount), Currency: string(money.USD), FeeUSD: USD(w.Fee), FeeTax: newFeeTax(w.Taxed, w.Tax), NetAmount: USD(w.Net()), Payout: newPayout(w.Conversion)}
}

// NewWithdrawal shows a withdrawal.
func NewWithdrawal(w pay.Withdrawal) Withdrawal {
	return Withdrawal{
		ID: w.ID, WalletID: w.Wallet, Amount: USD(w.Amount), Currency: string(money.USD), FeeUSD: USD(w.Fee), FeeTax: newFeeTax(w.Taxed, w.Tax), NetAmount: USD(w.Net()),
		Payout: newPayout(w.Conversion), ReturnedAmount: USD(w.Returned), Covers: newCovers(w.Covers), PendingReason: text(w.PendingReason()),
		Status: w.Status, FailureCode: text(w.FailureCode), FailureMessage: text(w.FailureMessage), Reference: cmp.Or(w.Payout.BankRef, w.Reference()),
		CreatedAt: Time{w.CreatedAt}, CompletedAt: at(w.CompletedAt), FailedAt: at(w.FailedAt),
	}
}

// Verification is an attempt to verify a merchant (KYC-1).
type Verification struct {
	VerificationID    string                       `json:"verificationId" example:"kyc_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Level             merchants.KYCLevel           `json:"level" enum:"basic,enhanced"`
	Status            merchants.VerificationStatus `json:"status" enum:"requires_input,processing,verified,rejected,expired"`
	URL               string                       `json:"url" doc:"The page where the merchant continues; keep it secret"`
	ExpiresAt         Time                         `json:"expiresAt"`
	RequiredDocuments []string                     `json:"requiredDocuments"`
	LastError         *VerificationError           `json:"lastError"`
	CreatedAt         Time                         `json:"createdAt"`
}

// VerificationError says why a verification was rejected.
type VerificationError struct {
	Code    string `json:"code" example:"document_unreadable"`
	Message string `json:"message"`
}

// NewVerification shows a verification whose page is at url.
func NewVerification(v merchants.Verification, url string) Verification {
	out := Verification{
		VerificationID: v.ID, Level: v.Level, Status: v.Status, URL: url, ExpiresAt: Time{v.ExpiresAt},
		RequiredDocuments: v.Documents(), CreatedAt: Time{v.CreatedAt},
	}
	if v.ErrorCode != "" {
		out.LastError = &VerificationError{v.ErrorCode, v.ErrorMessage}
	}
	return out
}
