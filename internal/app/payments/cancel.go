package payments

import (
	"cmp"
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Cancel cancels a pending payment of the shop (CANCEL-1). Its provider is told
// to end the charge first, where it can. That it is to be canceled is written before: should
// this node die, or the provider not answer, the sweep goes on with it. Canceling what is
// canceled changes nothing.
//
// Errors: transaction_not_found, conflict_state where it is not pending, also because the
// shopper was faster; service_unavailable with the reason outcome_unknown where the provider
// does not say in time whether the charge has ended.
func (in *Intake) Cancel(ctx context.Context, scope tenant.Scope, id string, cause view.Cause) (pay.Payment, error) {
	before, err := in.cascade.Payment(ctx, scope, id)
	if err = cmp.Or(err, in.MayMoveMoney()); err != nil || before.Canceled() {
		return before, err
	}
	p, err := in.wantCanceled(ctx, before)
	if err != nil || p.Canceled() {
		return p, err
	}
	// From here the payment is ours to finish, whether the caller waits or not.
	ctx = context.WithoutCancel(ctx)
	attempt, _ := p.Current()
	p, err = in.cascade.CancelBy(ctx, p, attempt, in.cascade.EndCharge(ctx, p, attempt), cause)
	switch {
	case err != nil:
		return p, goesOnCanceling(p.ID, err)
	case p.Canceled():
		return p, nil
	}
	return p, cmp.Or(p.CheckCancel(), goesOnCanceling(p.ID, nil))
}

// wantCanceled writes that the shop wants a payment canceled, once. One that is canceled
// meanwhile is returned as it is.
//
// Errors: conflict_state.
func (in *Intake) wantCanceled(ctx context.Context, read pay.Payment) (p pay.Payment, err error) {
	p = read
	err = base.Again(func() error {
		if p.Canceled() {
			return nil
		}
		if err := p.CheckCancel(); err != nil {
			return err
		}
		next, change := p.AskCancel(in.TimeOf(p.Scope))
		if len(change.Payments) == 0 {
			return nil
		}
		err := in.Commit(ctx, change, view.Cause{})
		if err == nil {
			p = next
			return nil
		}
		if errors.Is(err, store.ErrStale) {
			var other error
			if p, other = in.Store.Payments.Any(ctx, read.ID); other != nil {
				return other
			}
		}
		return err
	})
	return p, err
}

// goesOnCanceling tells that nobody knows yet whether a payment is canceled.
func goesOnCanceling(id string, cause error) error {
	return &problem.Error{Code: problem.ServiceUnavailable, Cause: cause, Details: problem.Details{Reason: store.OutcomeUnknown, TransactionID: id},
		Message: "it is not known in time whether the payment is canceled, and it is asked on: read it, or repeat the request"}
}
