package merchants

import (
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// Tier is a merchant's price plan with the operator (SVC-14).
type Tier string

// The tiers.
const (
	Starter  Tier = "starter"
	Standard Tier = "standard"
	Premium  Tier = "premium"
	Trusted  Tier = "trusted"
)

// Tiers lists all tiers.
func Tiers() []Tier { return []Tier{Starter, Standard, Premium, Trusted} }

// RefundFees is what happens to a payment's fees when it is refunded (REF-11).
type RefundFees string

// The two terms.
const (
	// FeesKept leaves the fees with those who earned them: the merchant pays the whole refund.
	FeesKept RefundFees = "kept"
	// FeesReturned gives back each fee in proportion to the refund: the merchant pays what the
	// payment brought.
	FeesReturned RefundFees = "returned"
)

// AllRefundFees lists the terms, the default first.
func AllRefundFees() []RefundFees { return []RefundFees{FeesKept, FeesReturned} }

// Terms is the prices and limits for a merchant's payments.
type Terms struct {
	PlatformBps   int64         // of each payment, 1/10,000
	ReserveBps    int64         // held back from each payment, 1/10,000
	Delay         time.Duration // from capture to available, from ShortestDelay to LongestDelay
	WithdrawalFee int64         // USD cents
	MinWithdrawal int64         // USD cents, the fee included; 0: anything above the fee
	ChargebackFee int64         // USD cents, for each dispute, whatever its outcome
	TrustScore    int           // 0 to 1000, the score a merchant of this tier starts with
	RefundFees    RefundFees    // the merchant's own, whatever the tier
}

// Bounds of the Delay of every tier. A settlement relies on them to know when to look, and how far back.
const (
	ShortestDelay = 24 * time.Hour
	LongestDelay  = 48 * time.Hour
)

// Terms returns what was agreed with the merchant: the terms of its tier, and its own.
func (m Merchant) Terms() Terms {
	t := TermsOf(m.Tier)
	t.RefundFees = m.RefundFees
	return t
}

// LeastWithdrawal is the smallest withdrawal, in USD cents, the fee included: more than the fee (PAYOUT-11).
func (t Terms) LeastWithdrawal() int64 { return max(t.MinWithdrawal, t.WithdrawalFee+1) }

// TermsOf returns the terms of a tier. An unknown tier gets the starter's.
func TermsOf(t Tier) Terms {
	switch t {
	case Standard:
		return Terms{PlatformBps: 120, ReserveBps: 500, Delay: 48 * time.Hour, WithdrawalFee: 300, ChargebackFee: 2000, TrustScore: 600}
	case Premium:
		return Terms{PlatformBps: 90, ReserveBps: 300, Delay: 48 * time.Hour, WithdrawalFee: 100, ChargebackFee: 1500, TrustScore: 750}
	case Trusted:
		return Terms{PlatformBps: 70, ReserveBps: 0, Delay: 24 * time.Hour, WithdrawalFee: 50, MinWithdrawal: 500, ChargebackFee: 1500, TrustScore: 900}
	}
	return Terms{PlatformBps: 150, ReserveBps: 1000, Delay: 48 * time.Hour, WithdrawalFee: 500, ChargebackFee: 2500, TrustScore: 400}
}

// Fees is the price of a payment, in USD cents, by who earns it.
type Fees struct {
	Platform int64 `json:"platform"` // the operator of Cascada
	Provider int64 `json:"provider"` // the provider's share of the amount
	Flat     int64 `json:"flat"`     // the provider's fixed price
	Network  int64 `json:"network"`  // schemes and networks
}

// Total is the sum of all fees.
func (f Fees) Total() int64 { return f.Platform + f.Provider + f.Flat + f.Network }

// Charge computes a payment's fees and its part of the reserve. Shares round half up, as providers
// bill. Where a share is agreed, its fee is at least a cent: many small payments cost no less than one large one. No
// fee is more than the others left, so the merchant's part is never negative.
func (t Terms) Charge(usd money.Amount, rail money.Fee) (Fees, int64) {
	left := usd.Minor
	take := func(want int64) int64 {
		got := min(want, left)
		left -= got
		return got
	}
	fees := Fees{
		Platform: take(money.Fee{Bps: t.PlatformBps}.Share(usd)),
		Provider: take(rail.Share(usd)),
		Flat:     take(rail.Flat),
	}
	return fees, take(usd.Share(t.ReserveBps, money.HalfUp).Minor)
}
