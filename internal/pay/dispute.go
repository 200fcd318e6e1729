package pay

import (
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
)

// dispute opens a chargeback claim, freezes what the shopper paid and has not
// got back, and takes the fee. It may take available below zero (gaps:
// Claims). A dispute that the simulator made leaves the payment completed; a
// real one moves it to chargeback (gaps: contradiction 3).
func (p Payment) dispute(n Notice, claimID string, now time.Time) (Payment, Change) {
	from := p
	if !n.Simulated {
		p = p.move(Dispute, now)
	}
	p.Disputed, p.OpenDispute = true, claimID
	p = p.written(from, now)
	left := money.New(p.Local.Minor-p.Refunded, p.Local.Currency)
	usd := p.Amount.Minor - p.given().USD
	claim := p.claim(claimID, ChargebackClaim, ClaimNeedsEvidence, left, usd, PartyIssuer, now)
	claim.Reason, claim.Network, claim.Frozen, claim.Fee = n.Outcome.Message, n.Network, usd, p.DisputeFee
	if claim.DueBy = n.RespondBy; !claim.DueBy.After(now) {
		claim.DueBy = now.Add(evidenceWindow)
	}
	claim.DueAt = claim.DueBy
	claim, created := claim.event(ChargebackCreated, p, now)
	claim, opened := claim.event(ClaimOpened, p, now)
	return p, Change{
		Payments: []Payment{p}, Claims: []Claim{claim}, Events: []Event{created, opened},
		Transfers: moving(
			claim.transfer("hold", ledger.ChargebackHold, now,
				ledger.Posting{Account: ledger.Available, Amount: -usd},
				ledger.Posting{Account: ledger.Frozen, Amount: usd}),
			claim.transfer("fee", ledger.ChargebackFee, now,
				ledger.Posting{Account: ledger.Available, Amount: -claim.Fee},
				ledger.Posting{Account: ledger.ChargebackFees, Amount: claim.Fee}),
		),
	}
}

// endDispute pays the shopper what he has not got back yet, or gives the
// merchant back what was frozen. The fee stays: the issuer took it for the
// case, not for its outcome.
//
// Only the simulator refunds a payment under dispute; what it gave back is not
// paid a second time.
func (c Claim) endDispute(p Payment, to ClaimStatus, now time.Time) (Payment, Change) {
	from := p
	p.OpenDispute = ""
	owed := int64(0)
	if to.Pays() {
		owed = min(c.Frozen, p.Amount.Minor-p.given().USD)
	}
	if _, can := p.Status.After(Dispute); can && owed > 0 {
		p = p.move(Dispute, now) // the shopper has the money now (contract: chargeback)
	}
	p = p.written(from, now)
	kept := c.Frozen - owed
	return p, Change{Payments: []Payment{p}, Transfers: moving(
		c.transfer("paid", ledger.ChargebackPaid, now,
			ledger.Posting{Account: ledger.Frozen, Amount: -owed},
			ledger.Posting{Account: ledger.Chargebacks, Amount: owed}),
		c.transfer("release", ledger.ChargebackRelease, now,
			ledger.Posting{Account: ledger.Frozen, Amount: -kept},
			ledger.Posting{Account: ledger.Available, Amount: kept}),
	)}
}

// Ruling is how a dispute ended, by the provider's word.
type Ruling string

// Rulings.
const (
	DisputeLost      Ruling = "lost"
	DisputeWon       Ruling = "won"
	DisputeWithdrawn Ruling = "withdrawn"
)

// Rule applies the provider's word on a dispute. The Change always keeps the
// receipt; a claim that is resolved already ignores it.
func (c Claim) Rule(p Payment, n Notice, now time.Time) (Claim, Change) {
	verbs := map[Ruling]ClaimVerb{DisputeLost: Approve, DisputeWon: Reject, DisputeWithdrawn: Withdraw}
	verdict := Applied
	next, change, err := c.Resolve(p, verbs[n.Ruling], PartyIssuer, n.Outcome.Message, now)
	if err != nil {
		next, change, verdict = c, Change{}, Ignored
	}
	change.Receipts = []Receipt{n.receipt(p.ID, verdict, now)}
	return next, change
}
