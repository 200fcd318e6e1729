package pay

import (
	"fmt"
	"slices"
	"time"
)

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
	conflict := &Error{Code: CodeConflictState, Details: Details{From: string(p.Status), Action: "cancel"}}
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
