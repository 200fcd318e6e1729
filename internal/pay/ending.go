package pay

import (
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Pauses between the questions about an outcome that nobody knows: twice as long each
// time up to an hour, and after a day of those, six hours.
const (
	maxUnknownPause  = time.Hour
	lastUnknownPause = 6 * time.Hour
	hourlyQuestions  = 24
)

// unknownLimit is how long a payment whose window is over stays open while its
// provider does not say whether it was paid.
const unknownLimit = 3 * 24 * time.Hour

// looks is when, after its end, a payment that ended unpaid is asked about once more:
// the shopper may have paid at the last moment, and the notification may be lost.
// The last ones are for those about which the provider did not answer before.
var looks = []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 3 * 24 * time.Hour, 7 * 24 * time.Hour, 14 * 24 * time.Hour, 30 * 24 * time.Hour}

// answeredLooks is how many of them there are when the provider answers.
const answeredLooks = 5

// pause is how long to wait before the next question about an attempt.
func (a Attempt) pause() time.Duration {
	pause := unknownRetry
	for i := 1; i < a.Unanswered; i++ {
		if pause *= 2; pause >= maxUnknownPause {
			if a.Unanswered-i > hourlyQuestions {
				return lastUnknownPause
			}
			return maxUnknownPause
		}
	}
	return pause
}

// unsure is since when nobody knows whether the shopper paid, after an answer.
func (p Payment) unsure(o Outcome, now time.Time) time.Time {
	switch {
	case o.Kind != Unknown:
		return time.Time{}
	case p.Unsure.IsZero():
		return now
	}
	return p.Unsure
}

// Codes of failures that are no error codes.
const (
	failedUnpaid    = "expired"
	failedUnsure    = "outcome_unknown" // the provider did not say for days
	failedAbandoned = "abandoned"       // the operator has seen that nobody was charged
)

// unpaid is the failure of a payment whose window is over.
func unpaid() Failure {
	return Failure{Code: failedUnpaid, Message: "the shopper did not pay in time"}
}

// Overdue reports whether the shopper's time is over.
func (p Payment) Overdue(now time.Time) bool {
	return p.Status == Pending && !p.Times.Expires.IsZero() && !now.Before(p.Times.Expires)
}

// Expire decides about a payment that is overdue, by what its provider says when it is
// asked once more; that it was paid or declined is Resolve's.
//
// An unknown outcome does not end it: the shopper may have paid. After days of that
// it ends all the same, as one of which nobody knows, and is asked about on.
func (p Payment) Expire(o Outcome, now time.Time) (Payment, Change) {
	from := p
	p.Unsure = p.unsure(o, now)
	if o.Kind != Unknown {
		p = p.lapse(now).answer()
		return p.finish(from, now)
	}
	attempt, _ := p.current()
	p.Attempts = p.noted(attempt.Order, o, now)
	if end := p.Times.Expires.Add(unknownLimit); now.Before(end) {
		attempt, _ = p.current()
		if p.DueAt = now.Add(attempt.pause()); p.DueAt.After(end) {
			p.DueAt = end
		}
		p = p.written(from, now)
		return p, Change{Payments: []Payment{p}}
	}
	p = p.lapse(now).answer()
	p.Failure = &Failure{Code: failedUnsure, Message: "the provider does not say whether the shopper paid: it is asked on"}
	return p.finish(from, now)
}

// Looking reports whether a payment that ended unpaid is still asked about.
func (p Payment) Looking() bool { return !p.Status.Open() && !p.DueAt.IsZero() }

// Look notes what a provider says of a payment that ended unpaid. What was paid after
// all is late money, as if the provider had told it by itself.
func (p Payment) Look(o Outcome, claimID string, now time.Time) (Payment, Change) {
	from := p
	attempt, ok := p.current()
	if !ok || !p.Looking() {
		return p, Change{}
	}
	if o.Kind == Approved && !p.misfits(o) && attempt.Status != Approved {
		return p.found(attempt, o, claimID, now)
	}
	var change Change
	if o.Kind == Approved && attempt.Status != Approved {
		p, change = p.misfit(attempt, o, from, now)
	}
	if o.Kind != Unknown {
		if p.Failure != nil && p.Failure.Code == failedUnsure { // now it is known
			f := unpaid()
			p.Failure = &f
		}
		p.Unsure = time.Time{}
	}
	p.DueAt = p.nextLook(o, now)
	updated := p.Times.Updated // a look that tells nothing new is nothing that the merchant sees
	p = p.written(from, now)
	if len(change.Events) == 0 {
		p.Times.Updated = updated
	}
	change.Payments = []Payment{p}
	return p, change
}

// found books money of a payment that had ended, which its provider told when asked.
func (p Payment) found(attempt Attempt, o Outcome, claimID string, now time.Time) (Payment, Change) {
	next, change := p.late(attempt.Order, o, claimID, "paid after the payment had ended", now)
	change.Receipts = []Receipt{p.answered(attempt, o, Late, now)}
	return next, change
}

// nextLook is when to ask again after an answer, zero when that was the last time.
func (p Payment) nextLook(o Outcome, now time.Time) time.Time {
	ended, n := p.Times.Expired, answeredLooks
	if ended.IsZero() {
		ended = p.Times.Failed
	}
	if o.Kind == Unknown {
		n = len(looks)
	}
	for _, after := range looks[:n] {
		if at := ended.Add(after); at.After(now) {
			return at
		}
	}
	return time.Time{}
}

// misfit notes that a provider answers that another amount was paid, with what that
// tells the operator and the merchant: once for each amount. from is the payment as it
// is written now; the caller writes the one that comes back.
func (p Payment) misfit(attempt Attempt, o Outcome, from Payment, now time.Time) (Payment, Change) {
	p, news := p.astray(Stray{Code: AmountMismatch, Order: attempt.Order, Local: o.Local})
	if !news {
		return p, Change{}
	}
	_, told := p.written(from, now).event(hook.PaymentAttention, from.Status, now)
	p.Sequence = told.Sequence
	return p, Change{Receipts: []Receipt{from.answered(attempt, o, Mismatched, now)}, Events: []Event{told}}
}

// Word is what the operator found out about a payment or a withdrawal that nobody else
// tells of.
type Word string

// Words.
const (
	WordPaid       Word = "paid"
	WordNotCharged Word = "not-charged" // of a payment
	WordNotPaid    Word = "not-paid"    // of a withdrawal
	WordReturned   Word = "returned"    // of a withdrawal that had arrived: the bank sent it back
)

// OtherwiseSaid is the reason (details.reason) for which an operator's word is refused
// that the provider contradicts.
const OtherwiseSaid = "provider_says_otherwise"

// Contradicts reports whether a provider's answer says otherwise than the operator's
// word about a payment. That the shopper may still pay contradicts both.
func (w Word) Contradicts(p Payment, o Outcome) bool {
	switch o.Kind {
	case Approved:
		return w != WordPaid || p.misfits(o)
	case Declined, Missing, Lapsed:
		return w != WordNotCharged
	}
	return o.Kind == Awaiting
}

// ContradictsPayout is Contradicts for a withdrawal. That it is on its way contradicts
// both words.
func (w Word) ContradictsPayout(o PayoutOutcome) bool {
	switch o.Kind {
	case PayoutPaid:
		return w != WordPaid
	case PayoutRejected, PayoutMissing, PayoutUnavailable, PayoutReturned:
		return w != WordNotPaid
	}
	return o.Kind == PayoutAccepted || o.Kind == PayoutUnsent // which somebody may still let go
}

// Rule is the operator's word on a withdrawal of which no provider tells the end.
//
// Errors: conflict_state for one whose end is known, and for one that was never sent
// and is said to have arrived.
func (w Withdrawal) Rule(word Word, o PayoutOutcome, now time.Time) (Withdrawal, Change, error) {
	if o.ProviderRef != "" {
		w.ProviderRef = o.ProviderRef
	}
	switch {
	case word == WordPaid && w.Status == WithdrawalProcessing:
		next, change := w.complete(now)
		return next, change, nil
	case word == WordReturned && w.Status == WithdrawalDone:
		next, change := w.comeBack(PayoutOutcome{}, now)
		return next, change, nil
	case word == WordNotPaid && w.Open():
		next, change := w.fail(PayoutOutcome{Code: "not_paid", Message: "the payout did not arrive"}, now)
		return next, change, nil
	}
	return w, Change{}, &problem.Error{Code: problem.ConflictState, Message: "the withdrawal is " + string(w.Status) + ": that cannot be said of it",
		Details: problem.Details{From: string(w.Status), Action: string(word)}}
}

// denied reports whether a provider says that an attempt was refused, or never came, which
// counts as paid by the operator's word.
func (p Payment) denied(order int, o Outcome) bool {
	a := p.Attempts[order-1]
	return a.Ruled && a.Status == Approved && (o.Kind == Declined || o.Kind == Missing || o.Kind == Lapsed)
}

// Denied keeps for the operator that a provider's answer is against his word that an attempt
// was paid; false where it is not.
func (p Payment) Denied(order int, o Outcome, now time.Time) (Change, bool) {
	if !p.denied(order, o) {
		return Change{}, false
	}
	told := Notice{
		ID: fmt.Sprintf("answer/%s %s", p.Reference(order), o.Kind), Account: p.Attempts[order-1].Provider,
		Body: fmt.Appendf(nil, "the provider says that charge %s is %s; by the operator's word it is paid", p.Reference(order), o.Kind),
	}
	return Change{Receipts: []Receipt{told.receipt(p.ID, Mismatched, now)}}, true
}

// Ended is the operator's word on an inquiry whose refund is under way and whose
// provider does not tell how it ended: he has looked into the provider's books. What may
// still come of the refund is for him too.
//
// Errors: claim_already_resolved, conflict_state.
func (c Claim) Ended(p Payment, v ClaimVerb, note string, now time.Time) (Claim, Change, error) {
	to, known := map[ClaimVerb]ClaimStatus{Approve: ClaimApproved, Reject: ClaimRejected}[v]
	if c.Kind != Inquiry || !c.Calling() || !known {
		_, err := c.After(v)
		return c, Change{}, err
	}
	next, change := c.resolve(p, to, PartyOperator, note, now)
	return next, change, nil
}

// Rule is the operator's word on a payment of which no provider tells the end: paid
// completes it, or is late money where it had ended; not charged ends it, and the
// questions about it.
//
// Errors: conflict_state for one that there is nothing to say about.
func (p Payment) Rule(w Word, o Outcome, claimID string, now time.Time) (Payment, Change, error) {
	from := p
	attempt, ok := p.current()
	said := Outcome{Kind: Approved, ProviderRef: o.ProviderRef, Local: p.Price.Local}
	switch {
	case w == WordNotCharged && o.Kind == Declined:
		said = o
	case w == WordNotCharged:
		said = Outcome{Kind: Missing, ProviderRef: o.ProviderRef}
	}
	switch ended := p.Status == Failed || p.Status == Expired; {
	case ok && p.Status.Open() && w == WordPaid:
		p.Attempts, p.Unsure = p.noted(attempt.Order, said, now), time.Time{}
		p.Attempts[attempt.Order-1].Ruled = o.Kind != Approved
		next, change := p.complete(from, attempt.Order, said, now)
		return next, change, nil
	case ok && p.Status.Open():
		p.Attempts, p.Unsure = p.noted(attempt.Order, said, now), time.Time{}
		p = p.fail(Failure{Code: failedAbandoned, Message: "nobody was charged"}, now).answer()
		next, change := p.finish(from, now)
		return next, change, nil
	case ok && ended && w == WordPaid && attempt.Status != Approved:
		p.Attempts = slices.Clone(p.Attempts)
		p.Attempts[attempt.Order-1].Ruled = o.Kind != Approved
		next, change := p.late(attempt.Order, said, claimID, "paid after the payment had ended", now)
		return next, change, nil
	case ended && w == WordNotCharged && (p.Looking() || !p.Unsure.IsZero()):
		if p.Failure != nil && p.Failure.Code == failedUnsure {
			f := unpaid()
			p.Failure = &f
		}
		p.DueAt, p.Unsure = time.Time{}, time.Time{}
		p = p.written(from, now)
		return p, Change{Payments: []Payment{p}}, nil
	}
	return p, Change{}, &problem.Error{Code: problem.ConflictState, Message: "the payment is " + string(p.Status) + ": its end is known",
		Details: problem.Details{From: string(p.Status), Action: string(w)}}
}

// failedCanceled is the failure of a payment that its shop canceled, or that its shopper called off.
const failedCanceled = "canceled"

// Canceled reports whether the payment ended because its shop canceled it, or its shopper
// called it off: see WayChanged.
func (p Payment) Canceled() bool {
	return p.Status == Failed && p.Failure != nil && p.Failure.Code == failedCanceled
}

// Canceling reports whether the shop wants the payment canceled, and nobody knows yet
// whether its provider has ended the charge.
func (p Payment) Canceling() bool { return p.Status == Pending && !p.CancelAsked.IsZero() }

// CheckCancel reports whether the shop may cancel the payment (CANCEL-1).
//
// Errors: conflict_state where it is not pending, and where money of another amount has
// come for it, which the operator deals with.
func (p Payment) CheckCancel() error {
	conflict := &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(p.Status), Action: "cancel"}}
	switch {
	case p.Status != Pending:
		conflict.Message = fmt.Sprintf("the payment is %s: only a pending one can be canceled", p.Status)
	case slices.ContainsFunc(p.Strays, func(s Stray) bool { return s.End != GivenBack }):
		conflict.Message = "money has arrived for this payment: see attention; nothing needs to be canceled"
		conflict.Details.Reason = PaymentReceived
	default:
		return nil
	}
	return conflict
}

// AskCancel is the intent: the shop wants the payment canceled, and its provider is about
// to be told to end the charge. Should whoever calls it die, the sweep goes on with it. A
// second time it changes nothing, and the Change is empty.
//
// The payment must pass CheckCancel.
func (p Payment) AskCancel(now time.Time) (Payment, Change) {
	if p.Canceling() {
		return p, Change{}
	}
	from := p
	p.CancelAsked, p.DueAt = now, now.Add(callLease)
	p = p.written(from, now)
	return p, Change{Payments: []Payment{p}}
}

// Cancel decides about a payment that is Canceling, by what its provider says: of the
// order to end the charge, or of how it stands where the provider cannot end it. That it
// was paid or declined is Resolve's.
//
// An unknown outcome does not end it: the shopper may have paid. What still waits for the
// shopper, at a provider that cannot end it, is canceled here alone: what is paid then is
// late money. It is asked about as one that expired is, for the shopper may have been
// faster, and the notification may be lost.
func (p Payment) Cancel(o Outcome, now time.Time) (Payment, Change) {
	from := p
	attempt, _ := p.current()
	p.Attempts = p.noted(attempt.Order, o, now)
	p.Unsure = p.unsure(o, now)
	if o.Kind == Unknown {
		attempt, _ = p.current()
		p.DueAt = now.Add(attempt.pause())
		if expires := p.Times.Expires; expires.After(now) && expires.Before(p.DueAt) {
			p.DueAt = expires
		}
		p = p.written(from, now)
		return p, Change{Payments: []Payment{p}}
	}
	return p.canceled(from, now)
}

// canceled ends a payment that its shop wanted canceled and that nobody paid.
func (p Payment) canceled(from Payment, now time.Time) (Payment, Change) {
	p = p.fail(Failure{Code: failedCanceled, Message: "the shop canceled the payment"}, now).answer()
	p.DueAt = now.Add(looks[0])
	return p.finish(from, now)
}
