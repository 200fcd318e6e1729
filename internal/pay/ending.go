package pay

import (
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// unknownPauses are between queries about a charge or a refund whose outcome is unknown. The first is short: most providers
// know a moment later, and a shopper may be waiting. After an hour more queries would only load a provider that is down.
var unknownPauses = backoff{first: 30 * time.Second, most: time.Hour}

// After hourlyQuestions of the longest of them, a payment is queried with lastUnknownPause: a day has shown that the provider
// will not know soon.
const (
	hourlyQuestions  = 24
	lastUnknownPause = 6 * time.Hour
)

// unknownLimit is how long a payment stays open after its window if its provider does not say
// whether it was paid.
const unknownLimit = 3 * 24 * time.Hour

// looks is when a payment that ended unpaid is queried again, counted from its end: the shopper may
// have paid at the last moment, and the notification may be lost. The last two are only for a
// provider that has not answered the earlier queries.
var looks = []time.Duration{time.Hour, 6 * time.Hour, 24 * time.Hour, 3 * 24 * time.Hour, 7 * 24 * time.Hour, 14 * 24 * time.Hour, 30 * 24 * time.Hour}

// answeredLooks is the number of looks if the provider answers.
const answeredLooks = 5

// completedLook is the first look at a payment that was completed: a day later. A node of the version before, which takes the answer
// for news of another money, is replaced by then.
const completedLook = 2

// pause is how long to wait before the next query about an attempt.
func (a Attempt) pause() time.Duration {
	if unknownPauses.after(a.Unanswered-hourlyQuestions) == unknownPauses.most {
		return lastUnknownPause
	}
	return unknownPauses.after(a.Unanswered)
}

// unsure is when it became unknown whether the shopper paid, after the answer o; zero if it is known.
func (p *Payment) unsure(o Outcome, now time.Time) time.Time {
	switch {
	case o.Kind != Unknown:
		return time.Time{}
	case p.Times.Unsure.IsZero():
		return now
	}
	return p.Times.Unsure
}

// Failure codes that are not error codes of the API.
const (
	failedUnpaid     = "expired"
	failedUnsure     = "outcome_unknown" // the provider gave no answer for days
	failedAbandoned  = "abandoned"       // nobody tried to pay on a card's page
	failedNotCharged = "not_charged"     // the operator found out that the shopper was not charged
	failedReversed   = "reversed"        // the provider gave all of it back before the payment was completed
)

// expired is the failure of a payment that its shopper could pay, and did not.
func expired() Failure {
	return Failure{Code: failedUnpaid, Message: "the shopper did not pay in time"}
}

// unpaid is the failure of a payment whose window is over: that of the last try, if there was one. A card that nobody tried was
// abandoned.
func (p *Payment) unpaid() Failure {
	if last, ok := p.Attempts.lastTry(); ok && p.Status != Expired {
		return p.Way.Refused(last)
	}
	if p.Way.Sync && p.Status != Expired && !p.Times.Expires.IsZero() {
		return Failure{Code: failedAbandoned, Message: "nobody tried to pay"}
	}
	return expired()
}

// reversed is the failure of a payment whose money the provider gave back before we knew of it.
func reversed() Failure {
	return Failure{Code: failedReversed, Message: "the shopper paid, and the provider gave the whole amount back"}
}

// Overdue reports whether the shopper's time is over.
func (p *Payment) Overdue(now time.Time) bool {
	return p.Status == Pending && !p.Times.Expires.IsZero() && !now.Before(p.Times.Expires)
}

// Expire decides about an overdue payment after a last query to its provider. If the answer is paid
// or declined, use Resolve.
//
// An unknown outcome does not end the payment: the shopper may have paid. After unknownLimit it
// ends as outcome_unknown, and is still queried.
func (p Payment) Expire(o Outcome, now time.Time) (Payment, Change) {
	from := p
	p.Times.Unsure = p.unsure(o, now)
	attempt, _ := p.Attempts.Current()
	if o.Kind != Unknown {
		if p, _ = p.tried(attempt.Order, o, now); o.Kind == Lapsed { // the provider has ended it, too
			p.Attempts = p.noted(attempt.Order, o, now)
		}
		p.lapse(o, now)
		p.answer()
		return p.finish(&from, now)
	}
	p.Attempts = p.noted(attempt.Order, o, now)
	if end := p.Times.Expires.Add(unknownLimit); now.Before(end) {
		attempt, _ = p.Attempts.Current()
		if p.Work.DueAt = now.Add(attempt.pause()); p.Work.DueAt.After(end) {
			p.Work.DueAt = end
		}
		p.written(&from, now)
		return p, Change{Payments: []Payment{p}}
	}
	p.lapse(o, now)
	p.answer()
	p.End.Failure = &Failure{Code: failedUnsure, Message: "the provider does not say whether the shopper paid: it is still queried"}
	return p.finish(&from, now)
}

// Looking reports whether a payment that has ended is still queried.
func (p *Payment) Looking() bool { return !p.Status.Open() && !p.Work.DueAt.IsZero() }

// Look records a provider's answer about a payment that ended unpaid. If the payment was paid after
// all, that is late money, as if the provider had sent a notification.
//
// The same is done for the last attempt of a payment that an earlier attempt completed: see
// Following.
func (p Payment) Look(o Outcome, claimID string, now time.Time) (Payment, Change) {
	attempt, ok := p.Attempts.Current()
	if !ok || !p.Looking() {
		return p, Change{}
	}
	next, change := p.look(attempt, o, claimID, now)
	return next.also(&p, change, attempt.Order, o, now)
}

func (p Payment) look(attempt Attempt, o Outcome, claimID string, now time.Time) (Payment, Change) {
	from := p
	switch {
	case p.Following():
		return p.followed(attempt, o, claimID, now)
	case o.Kind == Approved && !p.misfits(attempt.Order, o) && attempt.Status != Approved:
		return p.found(attempt, o, claimID, now)
	}
	var change Change
	if left := o.remaining(); left.Kind == Approved && !o.wholeBack() && attempt.Status != Approved {
		var verdict Verdict
		if p, change, verdict = p.partlyGone(attempt.Order, o).misfit(attempt.Order, left, claimID, &from, now); len(change.Events) > 0 {
			change.Notices = []KeptNotice{from.answered(attempt, o, verdict, now)}
		}
	}
	if o.wholeBack() { // it came and went
		change.Notices = p.bookedGone(attempt, o, now)
		p.Attempts = p.noted(attempt.Order, o, now)
	}
	if o.Kind != Unknown {
		if p.End.Failure != nil && p.End.Failure.Code == failedUnsure { // the outcome is known now
			f := p.unpaid()
			p.End.Failure = &f
		}
		p.Times.Unsure = time.Time{}
	}
	p.Work.DueAt = p.nextLook(o, now)
	updated := p.Times.Updated // the merchant does not see a look that changes nothing
	p.written(&from, now)
	if len(change.Events) == 0 {
		p.Times.Updated = updated
	}
	change.Payments = []Payment{p}
	return p, change
}

// found books money that a query found for a payment that had ended.
func (p Payment) found(attempt Attempt, o Outcome, claimID string, now time.Time) (Payment, Change) {
	next, change := p.late(attempt.Order, o, claimID, now)
	change.Notices = []KeptNotice{p.answered(attempt, o, Late, now)}
	return next, change
}

// open reports whether the attempt may still charge the shopper, as far as is known.
func (a Attempt) open() bool {
	return a.Status == Sending || a.Status == Unknown || a.Status == Awaiting
}

// follow sets when to look at the last attempt of a payment that an earlier attempt completed: its
// call is under way, or its page can still be paid. due is when it was to be looked at.
func (p *Payment) follow(due, now time.Time) {
	if last, ok := p.Attempts.Current(); ok && last.Order != p.End.Captured && last.open() {
		p.Work.DueAt = now
		if last.Status == Sending && due.After(now) { // its node has the call in hand
			p.Work.DueAt = due
		}
	}
}

// Following reports whether an earlier attempt completed the payment, and the last one is followed
// to its end: it may charge the shopper too.
func (p *Payment) Following() bool {
	last, ok := p.Attempts.Current()
	return ok && !p.Times.Completed.IsZero() && p.Looking() && last.Order != p.End.Captured && last.open() && last.Decline != amountMismatch
}

// followed records what is known of the attempt that is followed: the answer to its call, to a
// query or to the request to end it. Money that it took is late money.
func (p Payment) followed(attempt Attempt, o Outcome, claimID string, now time.Time) (Payment, Change) {
	from := p
	if o.Kind == Approved && !p.misfits(attempt.Order, o) {
		return p.found(attempt, o, claimID, now)
	}
	var change Change
	switch {
	case o.Kind == Approved, o.partlyBack():
		var verdict Verdict
		p, change, verdict = p.partlyGone(attempt.Order, o).misfit(attempt.Order, o.remaining(), claimID, &from, now)
		change.Notices = append(change.Notices, from.answered(attempt, o, verdict, now))
		o = Outcome{Kind: Unknown, Decline: amountMismatch}
	case o.Kind == Reversed:
		change.Notices = p.bookedGone(attempt, o, now)
	}
	p.Attempts = p.noted(attempt.Order, o, now)
	next := p.nextFollow(o, now)
	if next.IsZero() && o.Kind == Unknown && o.Decline != amountMismatch {
		silent := Notice{ID: "answer/" + p.Reference(attempt.Order) + " unknown", Account: attempt.Provider,
			Body: []byte("another attempt completed the payment, and the provider never said whether charge " + p.Reference(attempt.Order) + " was paid too")}
		change.Notices = append(change.Notices, silent.kept(p.ID, Mismatched, now))
	}
	if next.IsZero() {
		next = p.nextOfLeft(now)
	}
	p.Work.DueAt = next
	p.written(&from, now)
	if len(change.Events) == 0 {
		p.Times.Updated = from.Times.Updated // the merchant does not see it
	}
	change.Payments = []Payment{p}
	return p, change
}

// nextFollow is when to look at the followed attempt again; zero at its end. A page is looked at
// for as long as it can be paid, and some days more, as after an expiry. Without an answer it is
// for as long as the last look.
func (p *Payment) nextFollow(o Outcome, now time.Time) time.Time {
	attempt, _ := p.Attempts.Current()
	closes := time.UnixMicro(attempt.Started).UTC().Add(p.Way.Window)
	switch {
	case o.Decline == amountMismatch:
	case o.Kind == Unknown:
		if last := closes.Add(looks[len(looks)-1]); now.Before(last) {
			return now.Add(attempt.pause())
		}
	case o.Kind == Awaiting && now.Before(closes):
		if at := now.Add(looks[0]); at.Before(closes) {
			return at
		}
		return closes
	case o.Kind == Awaiting:
		for _, after := range looks[:answeredLooks] {
			if at := closes.Add(after); at.After(now) {
				return at
			}
		}
	}
	return time.Time{}
}

// nextLook is when to query again after an answer, zero after the last query.
func (p *Payment) nextLook(o Outcome, now time.Time) time.Time {
	ended, first, n := p.Times.Failed, 0, answeredLooks
	switch {
	case !p.Times.Completed.IsZero():
		ended, first = p.Times.Completed, completedLook
	case !p.Times.Expired.IsZero():
		ended = p.Times.Expired
	}
	if o.Kind == Unknown || slices.ContainsFunc(Left(*p), func(a Attempt) bool { return a.Unanswered > 0 }) {
		n = len(looks)
	}
	for _, after := range looks[first:n] {
		if at := ended.Add(after); at.After(now) {
			return at
		}
	}
	return time.Time{}
}

// Word is the operator's finding about a payment or a withdrawal whose end no provider reports.
type Word string

// The findings.
const (
	WordPaid       Word = "paid"
	WordNotCharged Word = "not-charged" // of a payment
	WordNotPaid    Word = "not-paid"    // of a withdrawal
	WordReturned   Word = "returned"    // of a withdrawal that had arrived: the bank returned it
)

// OtherwiseSaid is the reason (details.reason) if the provider contradicts the operator's finding.
const OtherwiseSaid = "provider_says_otherwise"

// Contradicts reports whether a provider's answer contradicts the operator's finding about a
// payment. A payment that the shopper can still pay contradicts both findings.
func (w Word) Contradicts(p Payment, o Outcome) bool {
	switch o.Kind {
	case Approved:
		attempt, _ := p.Attempts.Current()
		return w != WordPaid || p.misfits(attempt.Order, o)
	case Reversed:
		return w != WordNotCharged || o.partlyBack()
	case Declined, Missing, Lapsed:
		return w != WordNotCharged
	}
	return o.Kind == Awaiting
}

// denied reports whether a provider says that an attempt was refused or never arrived, although the
// operator resolved it as paid.
func (p *Payment) denied(order int, o Outcome) bool {
	a := p.Attempts[order-1]
	return a.Resolved && a.Status == Approved && (o.Kind == Declined || o.Kind == Missing || o.Kind == Lapsed)
}

// Denies records for the operator that a provider's answer about an attempt contradicts a payment
// resolved as paid. It returns false if there is no contradiction.
func (o Outcome) Denies(p Payment, order int, now time.Time) (Change, bool) {
	if !p.denied(order, o) {
		return Change{}, false
	}
	told := Notice{
		ID: fmt.Sprintf("answer/%s %s", p.Reference(order), o.Kind), Account: p.Attempts[order-1].Provider,
		Body: fmt.Appendf(nil, "the provider says that charge %s is %s; the operator resolved it as paid", p.Reference(order), o.Kind),
	}
	return Change{Notices: []KeptNotice{told.kept(p.ID, Mismatched, now)}}, true
}

// Ended applies the operator's decision on an inquiry whose refund is under way and whose provider
// does not report the result: the operator has checked the provider's books. If the refund turns
// out differently later, the operator has to deal with that too.
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

// Resolve applies the operator's finding to a payment whose end no provider reports. Paid completes
// it, or is late money if it had ended. Not charged ends it, and stops the queries about it.
//
// Errors: conflict_state if the payment's end is known.
func (w Word) Resolve(p Payment, o Outcome, claimID string, now time.Time) (Payment, Change, error) {
	from := p
	attempt, ok := p.Attempts.Current()
	said := Outcome{Kind: Approved, ProviderRef: o.ProviderRef, MoneyRef: o.MoneyRef, Local: p.Price.Local}
	switch {
	case w == WordNotCharged && (o.Kind == Declined || o.wholeBack()):
		said = o
	case w == WordNotCharged:
		said = Outcome{Kind: Missing, ProviderRef: o.ProviderRef}
	}
	switch ended := p.Status == Failed || p.Status == Expired; {
	case ok && p.Status.Open() && w == WordPaid:
		p.Attempts, p.Times.Unsure = p.noted(attempt.Order, said, now), time.Time{}
		p.Attempts[attempt.Order-1].Resolved = o.Kind != Approved
		next, change := p.complete(&from, attempt.Order, said, now)
		return next, change, nil
	case ok && p.Status.Open():
		p.Attempts, p.Times.Unsure = p.noted(attempt.Order, said, now), time.Time{}
		p.fail(Failure{Code: failedNotCharged, Message: "nobody was charged"}, now)
		p.answer()
		next, change := p.finish(&from, now)
		return next, change, nil
	case ok && ended && w == WordPaid && attempt.Status != Approved:
		p.Attempts = slices.Clone(p.Attempts)
		p.Attempts[attempt.Order-1].Resolved = o.Kind != Approved
		next, change := p.late(attempt.Order, said, claimID, now)
		return next, change, nil
	case ended && w == WordNotCharged && (p.Looking() || !p.Times.Unsure.IsZero()):
		if p.End.Failure != nil && p.End.Failure.Code == failedUnsure {
			f := p.unpaid()
			p.End.Failure = &f
		}
		p.Work.DueAt, p.Times.Unsure = time.Time{}, time.Time{}
		p.written(&from, now)
		return p, Change{Payments: []Payment{p}}, nil
	}
	return p, Change{}, &problem.Error{Code: problem.ConflictState, Reason: PaymentEndKnown.With(p.Status),
		Details: problem.Details{From: string(p.Status), Action: string(w)}}
}

// failedCanceled is the failure code of a payment that its shop canceled or its shopper called off.
const failedCanceled = "canceled"

// Canceled reports whether the payment ended because its shop canceled it or its shopper called it
// off: see WayChanged.
func (e PaymentEnd) Canceled() bool { return e.Failure != nil && e.Failure.Code == failedCanceled }

// Reversed reports whether the payment failed because the provider gave all of it back before it was
// completed: the shopper was charged, and has the money.
func (e PaymentEnd) Reversed() bool { return e.Failure != nil && e.Failure.Code == failedReversed }

// Canceling reports whether the shop asked to cancel the payment, and it is not known yet whether
// the provider has ended the charge.
func (p *Payment) Canceling() bool { return p.Status == Pending && !p.Times.CancelAsked.IsZero() }

// CheckCancel returns an error if the shop may not cancel the payment (CANCEL-1).
//
// Errors: conflict_state if it is not pending, or if another amount has arrived for it, which the
// operator deals with.
func (p Payment) CheckCancel() error {
	conflict := &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(p.Status), Action: "cancel"}}
	switch {
	case p.Status != Pending:
		conflict.Reason = onlyPendingCanceled.With(p.Status)
	case p.Strays.kept():
		conflict.Reason = moneyArrivedNoCancel
		conflict.Details.Reason = PaymentReceived
	default:
		return nil
	}
	return conflict
}

// AskCancel is the intent: the shop asked to cancel the payment, and its provider is about to be
// asked to end the charge. If the caller dies, the sweep continues. A second call changes nothing,
// and the Change is empty.
//
// The payment must pass CheckCancel.
func (p Payment) AskCancel(now time.Time) (Payment, Change) {
	if p.Canceling() {
		return p, Change{}
	}
	from := p
	p.Times.CancelAsked, p.Work.DueAt = now, now.Add(callLease)
	p.written(&from, now)
	return p, Change{Payments: []Payment{p}}
}

// Cancel decides about a payment that is Canceling after the provider's answer: to the request to
// end the charge, or to a query if the provider cannot end charges. If the answer is paid or
// declined, use Resolve.
//
// An unknown outcome does not end the payment: the shopper may have paid. If the provider cannot
// end the charge and it still waits for the shopper, the payment is canceled only here: money that
// arrives later is late money. It is queried like an expired payment, because the shopper may have
// paid just before, and the notification may be lost.
func (p Payment) Cancel(o Outcome, now time.Time) (Payment, Change) {
	from := p
	attempt, _ := p.Attempts.Current()
	p.Attempts = p.noted(attempt.Order, o, now)
	p.Times.Unsure = p.unsure(o, now)
	if o.Kind == Unknown {
		attempt, _ = p.Attempts.Current()
		p.Work.DueAt = now.Add(attempt.pause())
		if expires := p.Times.Expires; expires.After(now) && expires.Before(p.Work.DueAt) {
			p.Work.DueAt = expires
		}
		p.written(&from, now)
		return p, Change{Payments: []Payment{p}}
	}
	return p.canceled(&from, now)
}

// canceled ends an unpaid payment that its shop asked to cancel.
func (p Payment) canceled(from *Payment, now time.Time) (Payment, Change) {
	p.fail(Failure{Code: failedCanceled, Message: "the shop canceled the payment"}, now)
	p.answer()
	p.Work.DueAt = now.Add(looks[0])
	return p.finish(from, now)
}
