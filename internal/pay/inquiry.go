package pay

import (
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
)

// late books money that came after the payment had ended: it is real, so it is
// kept in suspense and an inquiry asks the operator what to do with it (LATE-1).
func (p Payment) late(order int, o Outcome, claimID, reason string, now time.Time) (Payment, Change) {
	from := p
	p.Attempts = p.noted(order, o, now)
	p, _ = p.astray(Stray{Code: LatePayment, Order: order, Local: p.Local, Claim: claimID})
	if order == len(p.Attempts) { // it was this one that is asked about
		p.DueAt, p.Unsure = time.Time{}, time.Time{}
	}
	p = p.written(from, now)
	claim := p.claim(claimID, Inquiry, ClaimPending, p.Local, p.Amount.Minor, PartyProvider, now)
	claim.Reason, claim.Attempt = reason, order
	claim, opened := claim.event(ClaimOpened, p, now)
	capture := claim.transfer("late", ledger.LateCapture, now,
		ledger.Posting{Account: ledger.Receivable, Amount: -p.Amount.Minor},
		ledger.Posting{Account: ledger.Suspense, Amount: p.Amount.Minor})
	capture.ID = "tr_" + p.Reference(order) + "-late" // once for the attempt, whatever the claim
	return p.applyHeld(Change{
		Payments: []Payment{p}, Claims: []Claim{claim},
		Transfers: []ledger.Transfer{capture}, Events: []Event{opened},
	}, nil, now)
}

// endInquiry gives late money to the shopper or to the merchant. The merchant
// gets all of it: no fee was agreed on for a payment that had ended.
func (c Claim) endInquiry(p Payment, to ClaimStatus, now time.Time) (Payment, Change) {
	end, step, kind, account := Accepted, "accept", ledger.LateAccepted, ledger.Available
	if to.Pays() {
		end, step, kind, account = GivenBack, "refund", ledger.LateRefund, ledger.Refunds
	}
	change := Change{Transfers: moving(c.transfer(step, kind, now,
		ledger.Posting{Account: ledger.Suspense, Amount: -c.USD}, ledger.Posting{Account: account, Amount: c.USD}))}
	if next, ended := p.end(func(s Stray) bool { return s.Claim == c.ID }, end); ended {
		p = next.written(p, now)
		change.Payments = []Payment{p}
	}
	return p, change
}
