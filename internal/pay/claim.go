package pay

import (
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
)

// ClaimKind says who wants the money back (gaps: Claims, type).
type ClaimKind string

// Kinds of claims.
const (
	UserDispute     ClaimKind = "user_dispute" // a refund
	ChargebackClaim ClaimKind = "chargeback"   // the card issuer
	Inquiry         ClaimKind = "inquiry"      // money that fits no payment, for the operator
)

// ClaimStatus is where a claim stands (gaps: Claims, States).
type ClaimStatus string

// States of a claim.
const (
	ClaimPending       ClaimStatus = "pending"
	ClaimNeedsEvidence ClaimStatus = "needs_evidence"
	ClaimUnderReview   ClaimStatus = "under_review"
	ClaimApproved      ClaimStatus = "approved" // the shopper is paid
	ClaimRejected      ClaimStatus = "rejected" // the merchant keeps it
	ClaimExpired       ClaimStatus = "expired"
	ClaimWithdrawn     ClaimStatus = "withdrawn"
)

// Claim is a demand to give a payment's money back.
type Claim struct {
	ID string // CLM-…
	Scope
	Version   int64
	Kind      ClaimKind
	Status    ClaimStatus
	Payment   string
	OrderID   string
	Local     money.Amount
	USD       int64 // cents
	Frozen    int64 // USD cents held now
	Fee       int64 // USD cents
	Reason    string
	DueBy     time.Time // for the merchant's evidence; zero when none is wanted
	Timeline  []ClaimStep
	Sequence  int64
	CreatedAt time.Time
	UpdatedAt time.Time
	Resolved  time.Time
}

// ClaimStep is one line of a claim's history.
type ClaimStep struct {
	Status ClaimStatus `json:"status"`
	At     int64       `json:"at"` // microseconds UTC
	Actor  string      `json:"actor"`
	Note   string      `json:"note,omitempty"`
}

// Refund is the contract's Refund resource: a claim seen by who asked for it.
type Refund struct {
	Claim
}

// evidenceWindow is how long a merchant has to answer a dispute.
const evidenceWindow = 7 * 24 * time.Hour

func (p Payment) claim(id string, kind ClaimKind, status ClaimStatus, local money.Amount, usd int64, reason, actor string, now time.Time) Claim {
	return Claim{
		ID: id, Scope: p.Scope, Version: 1, Kind: kind, Status: status,
		Payment: p.ID, OrderID: p.OrderID, Local: local, USD: usd, Reason: reason,
		Timeline:  []ClaimStep{{Status: status, At: now.UnixMicro(), Actor: actor}},
		CreatedAt: now, UpdatedAt: now,
	}
}

// dispute opens a chargeback claim and freezes what the shopper paid. It may
// take available below zero (gaps: Claims). A dispute that the simulator made
// leaves the payment completed; a real one moves it to chargeback (gaps:
// contradiction 3).
func (p Payment) dispute(n Notice, claimID string, now time.Time) (Payment, Change) {
	from := p
	if !n.Simulated {
		p = p.move(Dispute, now)
	}
	p.Disputed = true
	p = p.written(from, now)
	left := money.New(p.Local.Minor-p.Refunded, p.Local.Currency)
	usd := p.Amount.Minor - p.refundedUSD(p.Refunded)
	claim := p.claim(claimID, ChargebackClaim, ClaimNeedsEvidence, left, usd, n.Outcome.Message, "issuer", now)
	claim.Frozen, claim.DueBy = usd, now.Add(evidenceWindow)
	claim, created := claim.event(ChargebackCreated, p, now)
	claim, opened := claim.event(ClaimOpened, p, now)
	change := Change{Payments: []Payment{p}, Claims: []Claim{claim}, Events: []Event{created, opened}}
	if usd == 0 {
		return p, change // all of it had been refunded
	}
	change.Transfers = []ledger.Transfer{{
		ID: "tr_" + claim.suffix() + "-hold", Merchant: p.Merchant, Live: p.Live,
		Kind: ledger.ChargebackHold, Payment: p.ID, Claim: claim.ID, Local: left, At: now,
		Postings: ledger.Post(
			ledger.Posting{Account: ledger.Available, Amount: -usd},
			ledger.Posting{Account: ledger.Frozen, Amount: usd},
		),
	}}
	return p, change
}

// late books money that came after the payment had ended: it is real, so it is
// kept in suspense and an inquiry asks the operator what to do with it (gaps:
// Transaction).
func (p Payment) late(order int, o Outcome, claimID, reason string, now time.Time) (Payment, Change) {
	from := p
	p.Attempts = p.noted(order, o, now)
	p = p.written(from, now)
	claim := p.claim(claimID, Inquiry, ClaimPending, p.Local, p.Amount.Minor, reason, "provider", now)
	claim, opened := claim.event(ClaimOpened, p, now)
	capture := ledger.Transfer{
		ID: "tr_" + p.Reference(order) + "-late", Merchant: p.Merchant, Live: p.Live,
		Kind: ledger.LateCapture, Payment: p.ID, Claim: claim.ID, Local: p.Local, At: now,
		Postings: ledger.Post(
			ledger.Posting{Account: ledger.Receivable, Amount: -p.Amount.Minor},
			ledger.Posting{Account: ledger.Suspense, Amount: p.Amount.Minor},
		),
	}
	return p, Change{
		Payments: []Payment{p}, Claims: []Claim{claim},
		Transfers: []ledger.Transfer{capture}, Events: []Event{opened},
	}
}
