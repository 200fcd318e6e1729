package pay

import (
	"fmt"
	"time"
)

// Notice is a provider's notification in our words. Whether it was signed has
// been checked.
type Notice struct {
	ID        string // the provider's own id of it; the same one is applied once
	Account   string // the provider account that it came to
	Reference string // ours, of the charge
	Refund    string // ours, of a refund, where that is what the outcome is of
	Outcome   Outcome
	Dispute   bool   // the issuer takes the money back, and this is how it stands
	Ruling    Ruling // how the dispute ended; "" when the notice is about something else
	Body      []byte

	// Of a dispute, open or ended. Outcome.Message says why, and Outcome.Local what is
	// disputed; zero where the provider does not tell.
	DisputeID string    // the provider's; "" where it has none
	Instance  int       // whose word it is: 0 and 1 are the first's, 2 is the one's after it
	Stage     string    // the provider's own word for where it stands, for operators
	Network   string    // the card network's code of the reason
	RespondBy time.Time // until when evidence counts; zero for our own time
	Reviewing bool      // the evidence is in: nobody waits for the merchant
}

// Receipt is a notice as it is kept: each once, with what was done about it.
type Receipt struct {
	ID      string // account and the provider's id
	Account string
	Payment string
	Verdict Verdict
	Body    []byte
	At      time.Time
}

// Closes reports whether r says that the operator has dealt with another notification.
func (r Receipt) Closes(other Receipt) bool { return r.ID == closing+other.ID }

// closing begins the id of what says that the operator has dealt with a notification.
const closing = "/closed/"

// Verdict says what was done about a notice.
type Verdict string

// Verdicts.
const (
	Applied    Verdict = "applied"
	Ignored    Verdict = "ignored"    // it told nothing new
	Late       Verdict = "late"       // money came after the end: suspense and an inquiry
	Mismatched Verdict = "mismatched" // other amount or currency: for the operator
	Closed     Verdict = "closed"     // the operator has dealt with one that did not fit
)

// Close notes that the operator has dealt with a notification that did not fit its
// payment. The Change is once only.
//
// Its receipt has an id that no account's notification can have.
//
// Errors: that it needs nobody.
func (r Receipt) Close(note string, now time.Time) (Change, error) {
	if r.Verdict != Mismatched {
		return Change{}, fmt.Errorf("notification %s is %s: there is nothing to close", r.ID, r.Verdict)
	}
	return Change{Receipts: []Receipt{{
		ID: closing + r.ID, Account: r.Account, Payment: r.Payment, Verdict: Closed, Body: []byte(note), At: now,
	}}}, nil
}

// TakenAt reports whether a reference is of an attempt at a provider account. A
// notification of another account tells nothing of it, whoever signed that.
func (p Payment) TakenAt(reference, account string) bool {
	_, order, ok := ParseReference(reference)
	return ok && order <= len(p.Attempts) && p.Attempts[order-1].Provider == account
}

// ConfirmRefund applies a notice of a refund to its claim. The Change always
// keeps the receipt. What is told of a refund that has ended is kept for the
// operator where it says otherwise.
func (c Claim) ConfirmRefund(p Payment, n Notice, now time.Time) (Claim, Change) {
	next, change, verdict := c, Change{}, Ignored
	switch _, round, ok := ParseRefundReference(n.Refund); {
	case !ok:
	case c.contradicts(round, n.Outcome):
		verdict = Mismatched
	case round != c.Call.Round:
	case c.Calling() && c.misfits(n.Outcome):
		next, change = c.hold(p, n.Outcome, now)
		verdict = Mismatched
	case c.Calling():
		next, change = c.Called(p, n.Outcome.Asked(), now)
		verdict = Applied
	}
	change.Receipts = []Receipt{n.receipt(p.ID, verdict, now)}
	return next, change
}

// Confirm applies a notice to the payment. The Change always keeps the
// receipt; whether anything else is in it is the verdict. News of a dispute is for
// Contest, which knows the claims: here it is taken for the first there is.
func (p Payment) Confirm(n Notice, c Cascade, claimID string, now time.Time) (Payment, Change) {
	if n.OfDispute() {
		return p.Contest(n, nil, [2]string{claimID}, now)
	}
	next, change, verdict := p.confirm(n, c, claimID, now)
	change.Receipts = []Receipt{n.receipt(p.ID, verdict, now)}
	return next, change
}

func (n Notice) receipt(payment string, verdict Verdict, now time.Time) Receipt {
	return Receipt{ID: n.Account + "/" + n.ID, Account: n.Account, Payment: payment, Verdict: verdict, Body: n.Body, At: now}
}

func (p Payment) confirm(n Notice, c Cascade, claimID string, now time.Time) (Payment, Change, Verdict) {
	_, order, ok := ParseReference(n.Reference)
	if !ok || order > len(p.Attempts) {
		return p, Change{}, Mismatched
	}
	n.Outcome = n.Outcome.Asked()
	paid := n.Outcome.Kind == Approved
	if p.misfits(n.Outcome) {
		next, change := p.mismatched(order, n.Outcome, now)
		return next, change, Mismatched
	}
	switch {
	case p.Status == Processing && n.Outcome.Kind == Awaiting && n.Outcome.FormURL == "":
		return p, Change{}, Ignored // where to send the shopper, the call's answer or a query says
	case p.Status.Open() && (order == len(p.Attempts) || paid):
		next, change := p.resolveNotice(n, order, c, now)
		return next, change, Applied
	case paid && p.Attempts[order-1].Status != Approved:
		reason := "paid after the payment had ended"
		if !p.Times.Completed.IsZero() {
			reason = "paid twice: another attempt had completed the payment"
		}
		next, change := p.late(order, n.Outcome, claimID, reason, now)
		return next, change, Late
	case p.denied(order, n.Outcome):
		return p, Change{}, Mismatched
	}
	return p, Change{}, Ignored
}

// resolveNotice is Resolve for an attempt that may not be the last one.
func (p Payment) resolveNotice(n Notice, order int, c Cascade, now time.Time) (Payment, Change) {
	if order != len(p.Attempts) {
		// An earlier attempt did charge after all. The later one is left as it
		// is; should it be paid too, that money goes to suspense.
		from := p
		p.Attempts = p.noted(order, n.Outcome, now)
		return p.complete(from, order, n.Outcome, now)
	}
	return p.Resolve(n.Outcome, c, now)
}
