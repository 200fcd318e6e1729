package pay

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Expire decides about an overdue payment after a last query to its provider. If the answer is paid
// or declined, use ApplyAnswer.
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

// ApplyLook records a provider's answer about a payment that ended unpaid. If the payment was paid after
// all, that is late money, as if the provider had sent a notification.
//
// The same is done for the last attempt of a payment that an earlier attempt completed: see
// Following.
func (p Payment) ApplyLook(o Outcome, claimID string, now time.Time) (Payment, Change) {
	attempt, ok := p.Attempts.Current()
	if !ok || !p.Looking() {
		return p, Change{}
	}
	next, change := p.applyLook(attempt, o, claimID, now)
	next, change = next.applyHeld(change, now)
	return next.also(&p, change, attempt.Order, o, now)
}

func (p Payment) applyLook(attempt Attempt, o Outcome, claimID string, now time.Time) (Payment, Change) {
	from := p
	switch {
	case p.Following():
		return p.applyFollowed(attempt, o, claimID, now)
	case o.Kind == Approved && !p.misfits(attempt.Order, o) && attempt.Status != Approved:
		return p.found(attempt, o, claimID, now)
	}
	var change Change
	if left := o.remaining(); left.Kind == Approved && !o.wholeBack() && attempt.Status != Approved {
		var verdict Verdict
		if p, change, verdict = p.partlyGone(attempt.Order, o).misfit(attempt.Order, left, claimID, &from, now); len(change.Events) > 0 {
			change.Notices = []KeptNotice{from.keptAnswer(attempt, o, verdict, now)}
		}
	}
	if o.wholeBack() { // the money came, and all of it went back
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
func (word Word) Contradicts(p Payment, o Outcome) bool {
	switch o.Kind {
	case Approved:
		attempt, _ := p.Attempts.Current()
		return word != WordPaid || p.misfits(attempt.Order, o)
	case Reversed:
		return word != WordNotCharged || o.partlyBack()
	case Declined, Missing, Lapsed:
		return word != WordNotCharged
	}
	return o.Kind == Awaiting
}

// Contradiction records for the operator that a provider's answer about an attempt contradicts a payment
// resolved as paid. It returns false if there is no contradiction.
func (o Outcome) Contradiction(p Payment, order int, now time.Time) (Change, bool) {
	if !p.denied(order, o) {
		return Change{}, false
	}
	told := Notice{
		ID: fmt.Sprintf("answer/%s %s", p.Reference(order), o.Kind), Account: p.Attempts[order-1].Provider,
		Body: fmt.Appendf(nil, "the provider says that charge %s is %s; the operator resolved it as paid", p.Reference(order), o.Kind),
	}
	return Change{Notices: []KeptNotice{told.stored(p.ID, Mismatched, now)}}, true
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
	_, change = p.applyHeld(change, now)
	return next, change, nil
}

// Resolve applies the operator's finding to a payment whose end no provider reports. Paid completes
// it, or is late money if it had ended. Not charged ends it, and stops the queries about it.
//
// Errors: conflict_state if the payment's end is known.
func (word Word) Resolve(p Payment, o Outcome, claimID string, now time.Time) (Payment, Change, error) {
	from := p
	attempt, ok := p.Attempts.Current()
	said := Outcome{Kind: Approved, ProviderRef: o.ProviderRef, MoneyRef: o.MoneyRef, Local: p.Price.Local}
	switch {
	case word == WordNotCharged && (o.Kind == Declined || o.wholeBack()):
		said = o
	case word == WordNotCharged:
		said = Outcome{Kind: Missing, ProviderRef: o.ProviderRef}
	}
	switch ended := p.Status == Failed || p.Status == Expired; {
	case ok && p.Status.Open() && word == WordPaid:
		p.Attempts, p.Times.Unsure = p.noted(attempt.Order, said, now), time.Time{}
		p.Attempts[attempt.Order-1].Resolved = o.Kind != Approved
		next, change := p.complete(&from, attempt.Order, said, now)
		next, change = next.applyHeld(change, now)
		return next, change, nil
	case ok && p.Status.Open():
		p.Attempts, p.Times.Unsure = p.noted(attempt.Order, said, now), time.Time{}
		p.fail(Failure{Code: failedNotCharged, Message: "nobody was charged"}, now)
		p.answer()
		next, change := p.finish(&from, now)
		return next, change, nil
	case ok && ended && word == WordPaid && attempt.Status != Approved:
		p.Attempts = slices.Clone(p.Attempts)
		p.Attempts[attempt.Order-1].Resolved = o.Kind != Approved
		next, change := p.late(attempt.Order, said, claimID, now)
		next, change = next.applyHeld(change, now)
		return next, change, nil
	case ended && word == WordNotCharged && (p.Looking() || !p.Times.Unsure.IsZero()):
		if p.End.Failure != nil && p.End.Failure.Code == failedUnsure {
			f := p.unpaid()
			p.End.Failure = &f
		}
		p.Work.DueAt, p.Times.Unsure = time.Time{}, time.Time{}
		p.written(&from, now)
		return p, Change{Payments: []Payment{p}}, nil
	}
	return p, Change{}, &problem.Error{Code: problem.ConflictState, Reason: PaymentEndKnown.With(p.Status),
		Details: problem.Details{From: string(p.Status), Action: string(word)}}
}

// CheckCancel returns an error if the shop may not cancel the payment (CANCEL-1).
//
// Errors: conflict_state if it is not pending, or if another amount has arrived for it, which the
// operator deals with.
func (p Payment) CheckCancel() error {
	conflict := &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(p.Status), Action: "cancel"}}
	switch {
	case p.Status != Pending:
		conflict.Reason = onlyPendingCanceled.With(p.Status)
	case p.Strays.outstanding():
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
// declined, use ApplyAnswer.
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

// Resolve applies the decision of the issuer, the provider or the operator. An approved inquiry
// waits for its refund at the provider: see RefundCall.
//
// Errors: claim_already_resolved, conflict_state.
func (c Claim) Resolve(p Payment, v ClaimVerb, actor, note string, now time.Time) (Claim, Change, error) {
	to, err := c.After(v)
	if err != nil {
		return c, Change{}, err
	}
	if c.Kind == Inquiry && to.Pays() {
		c, change := c.send(to, actor, note, now)
		return c, change, nil
	}
	c, change := c.resolve(p, to, actor, note, now)
	_, change = p.applyHeld(change, now)
	return c, change, nil
}

// GiveByHand records that the operator gave an inquiry's money back, by a bank transfer with the
// reference: no provider is asked.
//
// Errors: claim_already_resolved, conflict_state, missing_field without a reference.
func (di Disposition) GiveByHand(c Claim, p Payment, reference string) (Claim, Change, error) {
	to, err := c.After(Approve)
	switch {
	case err != nil:
		return c, Change{}, err
	case c.Kind != Inquiry:
		return c, Change{}, &problem.Error{Code: problem.ConflictState, Reason: onlyInquiryByHand,
			Details: problem.Details{From: string(c.Status), Action: "by_hand"}}
	case reference == "":
		return c, Change{}, problem.Field(problem.MissingField, "reference", bankReferenceRequired)
	}
	c.Call.ByHand = reference
	c, change := c.resolve(p, to, PartyOperator, di.Note, di.At)
	_, change = p.applyHeld(change, di.At)
	return c, change, nil
}

// Unfounded ends an inquiry about money of another amount that never came, and takes back what was
// booked: the provider reported it, and its books do not have it.
//
// Errors: claim_already_resolved, conflict_state if the claim is about other money.
func (di Disposition) Unfounded(c Claim, p Payment) (Claim, Change, error) {
	now := di.At
	at := slices.IndexFunc(p.Strays, func(s Stray) bool { return s.Claim == c.ID })
	if _, err := c.After(Approve); err != nil {
		return c, Change{}, err
	}
	if c.Kind != Inquiry || at < 0 || p.Strays[at].Code != AmountMismatch {
		_, err := c.After(Withdraw)
		return c, Change{}, err
	}
	next, ended := p.end(func(s Stray) bool { return s.Claim == c.ID }, DealtWith)
	var change Change
	if ended {
		next.written(&p, now)
		p = next
		change.Payments = []Payment{p}
	}
	rounding := int64(0)
	if p.Strays[at].Kept == 0 { // all of it was never owed
		rounding = p.Price.rounding(c.Local, c.USD)
	}
	change.Transfers = moving(c.transfer("unfounded", ledger.LateReversal, now,
		ledger.Posting{Account: ledger.Suspense, Amount: -c.USD}, ledger.Posting{Account: ledger.Receivable, Amount: c.USD + rounding},
		ledger.Posting{Account: ledger.Rounding, Amount: -rounding}))
	c, change = c.resolved(p, change, ClaimWithdrawn, PartyOperator, di.Note, now)
	_, change = p.applyHeld(change, now)
	return c, change, nil
}

// Disposition is the operator's decision about the money of an inquiry, beside giving all of it back by its
// provider or to the merchant (Claim.Resolve).
type Disposition struct {
	Note string // why; the merchant reads it
	At   time.Time
}

// Keep gives a part of an inquiry's money to the merchant, as the operator decided. The claim is
// about the rest from then on. If it completes the payment, the part is the payment's amount and
// becomes its capture; otherwise the merchant gets it without fees.
//
// Errors: claim_already_resolved, conflict_state, invalid_request unless a rest is left.
func (di Disposition) Keep(c Claim, p Payment, part money.Amount, complete bool) (Claim, Payment, Change, error) {
	now := di.At
	fail := func(err error) (Claim, Payment, Change, error) { return c, p, Change{}, err }
	at := slices.IndexFunc(p.Strays, func(s Stray) bool { return s.Claim == c.ID })
	if _, err := c.After(Approve); err != nil {
		return fail(err)
	}
	conflict := &problem.Error{Code: problem.ConflictState, Details: problem.Details{From: string(c.Status), Action: "keep"}}
	switch {
	case c.Kind != Inquiry || at < 0:
		conflict.Reason = onlyInquiryPartKept
		return fail(conflict)
	case part.Currency != c.Local.Currency || !part.IsPositive() || part.Minor >= c.Local.Minor:
		return fail(problem.Field(problem.InvalidRequest, "keep", partOutOfRange.With(c.Local)))
	case complete && (!p.Status.Open() || part != p.Price.Local):
		conflict.Reason, conflict.Details.From = onlyOpenCompleted.With(p.Price.Local), string(p.Status)
		return fail(conflict)
	}
	from, s := p, p.Strays[at]
	usd := money.New(c.USD, money.USD).Fraction(part.Minor, c.Local.Minor, money.Down).Minor
	if complete {
		usd = p.Price.Amount.Minor
	}
	kind, account, step, rounding := ledger.LateKept, ledger.Available, "keep", int64(0)
	if complete { // the capture books what its provider owes once more
		kind, account, step, rounding = ledger.LateApplied, ledger.Receivable, "apply", p.Price.rounding(p.Price.Local, usd)
	}
	s.Kept += part.Minor
	moved := c.transfer(step+"-"+strconv.FormatInt(s.Kept, 10), kind, now,
		ledger.Posting{Account: ledger.Suspense, Amount: -usd}, ledger.Posting{Account: account, Amount: usd + rounding},
		ledger.Posting{Account: ledger.Rounding, Amount: -rounding})
	moved.Local = part
	p.Strays = slices.Clone(p.Strays)
	p.Strays[at] = s
	c = c.written(now)
	c.Local, c.USD = c.Local.Sub(part), c.USD-usd
	c = c.step(PartyOperator, di.Note, now)
	change := Change{}
	if complete {
		said := Outcome{Kind: Approved, ProviderRef: s.ProviderRef, MoneyRef: s.MoneyRef, Local: part}
		p.Attempts, p.Times.Unsure = p.noted(s.Order, said, now), time.Time{}
		p, change = p.complete(&from, s.Order, said, now)
		p, change = p.applyHeld(change, now)
	} else {
		p.written(&from, now)
		change.Payments = []Payment{p}
	}
	change.Claims, change.Transfers = append(change.Claims, c), append(moving(moved), change.Transfers...)
	return c, p, change, nil
}

// otherWay is the decline of a payment that its shopper called off to choose another way to pay.
const otherWay = "another_way"

// NotEnded is the reason (details.reason) why a payment is not called off: its provider does not
// confirm that it can no longer be paid.
const NotEnded = "not_ended_by_provider"

// CheckChange returns an error if the shopper may not call the payment off to choose another way.
// It must wait for the shopper, and no money may have come for it.
//
// Errors: conflict_state.
func (p Payment) CheckChange() error {
	switch {
	case p.Status != Pending || !p.Page.Hosted || p.Canceling():
		return &problem.Error{Code: problem.ConflictState, Reason: nothingToCallOff,
			Details: problem.Details{From: string(p.Status), Action: "cancel"}}
	case p.Holds():
		return &problem.Error{Code: problem.ConflictState, Reason: moneyArrivedNoCallOff,
			Details: problem.Details{From: string(p.Status), Action: "cancel", Reason: PaymentReceived, ExistingTxID: p.ID}}
	}
	return nil
}

// ChangeWay decides about a payment that its shopper calls off, after the provider's answer to the
// request to end the charge; Awaiting means that it cannot end charges. If the answer is paid or
// declined, use ApplyAnswer. The payment is queried for some days more, like an expired one: money that
// arrives later is late money.
//
// Errors: conflict_state as CheckChange; service_unavailable with the reason NotEnded if it is not
// known whether the charge has ended. Then nothing changes.
func (p Payment) ChangeWay(o Outcome, c Cascade, now time.Time) (Payment, Change, error) {
	if err := p.CheckChange(); err != nil {
		return p, Change{}, err
	}
	switch o.Kind {
	case Approved, Declined:
		c.Retry = RetryLimits{} // the shopper does not want to try again
		next, change := p.ApplyAnswer(o, c, now)
		return next, change, nil
	case Lapsed, Missing, Awaiting:
	default:
		return p, Change{}, &problem.Error{Code: problem.ServiceUnavailable, Reason: chargeMayGoOn,
			Details: problem.Details{Reason: NotEnded, TransactionID: p.ID}}
	}
	from := p
	attempt, _ := p.Attempts.Current()
	p, _ = p.tried(attempt.Order, o, now)
	p.fail(Failure{Code: failedCanceled, Decline: otherWay, Message: "the shopper chose another way to pay"}, now)
	p.answer()
	p.Times.Unsure, p.Work.DueAt = time.Time{}, now.Add(looks[0])
	next, change := p.finish(&from, now)
	return next, change, nil
}

// WayChanged reports whether the shopper called the payment off to choose another way to pay.
func (e PaymentEnd) WayChanged() bool { return e.Canceled() && e.Failure.Decline == otherWay }
