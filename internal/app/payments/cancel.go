package payments

import (
	"cmp"
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Cancel cancels a pending payment of the shop (CANCEL-1). Its provider is asked to end the charge
// first, if it can. The intent is written before: if this node dies or the provider does not
// answer, the sweep continues. Canceling a canceled payment changes nothing.
//
// Errors: transaction_not_found; conflict_state if it is not pending, or if the shopper paid first;
// service_unavailable with the reason outcome_unknown if the provider does not confirm in time that
// the charge has ended.
func (pa *Payments) Cancel(ctx context.Context, scope merchants.Scope, id string, cause view.Cause) (pay.Payment, error) {
	return pa.cancel(ctx, scope, id, audit.Actor{}, cause)
}

// CancelBy is Cancel by a person, whom the audit log names.
//
// Errors: those of Cancel.
func (pa *Payments) CancelBy(ctx context.Context, scope merchants.Scope, id string, by audit.Actor) (pay.Payment, error) {
	return pa.cancel(ctx, scope, id, by, view.Cause{RequestID: by.Request})
}

func (pa *Payments) cancel(ctx context.Context, scope merchants.Scope, id string, by audit.Actor, cause view.Cause) (pay.Payment, error) {
	before, err := pa.cascade.Payment(ctx, scope, id)
	if err = cmp.Or(err, pa.MayMoveMoney()); err != nil || before.End.Canceled() {
		return before, err
	}
	p, err := pa.wantCanceled(ctx, before, by)
	if err != nil || p.End.Canceled() {
		return p, err
	}
	// From here we must finish the payment, even if the caller no longer waits.
	ctx = context.WithoutCancel(ctx)
	attempt, _ := p.Attempts.Current()
	p, err = pa.cascade.CancelBy(ctx, p, attempt, pa.cascade.EndCharge(ctx, p, attempt), cause)
	switch {
	case err != nil:
		return p, goesOnCanceling(p.ID, err)
	case p.End.Canceled():
		return p, nil
	}
	return p, cmp.Or(p.CheckCancel(), goesOnCanceling(p.ID, nil))
}

// wantCanceled records, once, that the shop wants the payment canceled. A payment that was canceled
// meanwhile is returned.
//
// Errors: conflict_state.
func (pa *Payments) wantCanceled(ctx context.Context, read pay.Payment, by audit.Actor) (p pay.Payment, err error) {
	p = read
	err = base.Again(func() error {
		if p.End.Canceled() {
			return nil
		}
		if err := p.CheckCancel(); err != nil {
			return err
		}
		next, change := p.AskCancel(pa.TimeOf(p.Scope))
		if len(change.Payments) == 0 {
			return nil
		}
		if by != (audit.Actor{}) {
			change.Audit = pa.Audited(by, p.Scope, audit.PaymentCanceled, p.ID, nil)
		}
		err := pa.Commit(ctx, change, view.Cause{})
		if err == nil {
			p = next
			return nil
		}
		if errors.Is(err, store.ErrStale) {
			var other error
			if p, other = pa.Store.Payments().Any(ctx, read.ID); other != nil {
				return other
			}
		}
		return err
	})
	return p, err
}

// goesOnCanceling is the error if it is not known yet whether a payment is canceled.
func goesOnCanceling(id string, cause error) error {
	return &problem.Error{Code: problem.ServiceUnavailable, Cause: cause, Details: problem.Details{Reason: store.OutcomeUnknown, TransactionID: id},
		Reason: cancelUnknown}
}
