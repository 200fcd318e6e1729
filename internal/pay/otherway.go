package pay

import "time"

// otherWay is the decline of a canceled payment that its shopper called off to choose another
// way to pay.
const otherWay = "another_way"

// NotEnded is the reason (details.reason) for which a payment is not called off: its
// provider does not say that nobody can pay it any more.
const NotEnded = "not_ended_by_provider"

// CheckChange says whether the shopper may call a payment off to choose another way: one
// that waits for them, and of which no money has come.
//
// Errors: conflict_state.
func (p Payment) CheckChange() error {
	switch {
	case p.Status != Pending || !p.Hosted || p.Canceling():
		return &Error{Code: CodeConflictState, Message: "the payment does not wait for its shopper: there is nothing to call off",
			Details: Details{From: string(p.Status), Action: "cancel"}}
	case p.Holds():
		return &Error{Code: CodeConflictState, Message: "money for this payment has come, or may have: it cannot be called off",
			Details: Details{From: string(p.Status), Action: "cancel", Reason: PaymentReceived, ExistingTxID: p.ID}}
	}
	return nil
}

// ChangeWay decides about a payment that its shopper calls off, by what the provider said
// when it was told to end the charge; Awaiting is that of one that cannot end charges.
// That it was paid or declined is Resolve's. It is asked about for some days more, as one
// that has expired is: what is paid after all is late money.
//
// Errors: conflict_state as CheckChange; service_unavailable with the reason NotEnded where
// nobody knows whether the charge has ended. Then nothing changes.
func (p Payment) ChangeWay(o Outcome, c Cascade, now time.Time) (Payment, Change, error) {
	if err := p.CheckChange(); err != nil {
		return p, Change{}, err
	}
	switch o.Kind {
	case Approved, Declined:
		next, change := p.Resolve(o, c, now)
		return next, change, nil
	case Lapsed, Missing, Awaiting:
	default:
		return p, Change{}, &Error{Code: CodeServiceUnavailable, Message: "the provider does not say that the charge has ended: the payment stays as it is; try again",
			Details: Details{Reason: NotEnded, TransactionID: p.ID}}
	}
	from := p
	p = p.fail(Failure{Code: failedCanceled, Decline: otherWay, Message: "the shopper chose another way to pay"}, now).answer()
	p.Unsure, p.DueAt = time.Time{}, now.Add(looks[0])
	next, change := p.finish(from, now)
	return next, change, nil
}

// WayChanged reports whether its shopper called it off to choose another way.
func (p Payment) WayChanged() bool { return p.Canceled() && p.Failure.Decline == otherWay }
