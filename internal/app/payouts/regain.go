package payouts

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// openWithdrawal is decideWithdrawal, with the payout that an account has of the same request from before a restore, if it has one.
func (po *Payouts) openWithdrawal(ctx context.Context, scope merchants.Scope, n NewWithdrawal, terms merchants.Terms, now time.Time) (pay.Withdrawal, pay.Change, error) {
	at, _, found, err := po.FoundOf(ctx, po.mark(n, scope), pay.FoundPayout)
	if err != nil {
		return pay.Withdrawal{}, pay.Change{}, err
	}
	if found {
		n.id, _, _ = pay.ParsePayoutReference(at.Reference)
	}
	made, change, err := po.decideWithdrawal(ctx, scope, n, terms, now)
	if err != nil || !found {
		return made, change, err
	}
	return po.regainNewPayout(ctx, made, change, at, now)
}

// regainNewPayout gives a new withdrawal the amount and the round that an account's list has for the same
// request.
func (po *Payouts) regainNewPayout(ctx context.Context, made pay.Withdrawal, change pay.Change, at pay.Found, now time.Time) (pay.Withdrawal, pay.Change, error) {
	object, round, _ := pay.ParsePayoutReference(at.Reference)
	switch {
	case !base.Nearly(made.Local, at.Local()):
		return made, change, base.OtherThanFound(at)
	case at.Object != "":
		return made, change, base.ErrDealtWith
	}
	by, err := po.Store.Hold(ctx)
	if err != nil {
		return made, change, err
	}
	made.Local = at.Local()
	float, err := po.floatFor(ctx, at.Account, made)
	if err != nil {
		return made, change, err
	}
	next, sent, err := at.RegainPayout(made, round, float, by, now)
	if err != nil {
		return made, change, err
	}
	next.Version = made.Version // both changes are one version of the row
	change.Withdrawals, change.Transfers, change.Floors = []pay.Withdrawal{next}, append(change.Transfers, sent.Transfers...), append(change.Floors, sent.Floors...)
	change.Found = []pay.Found{at.Assigned(object)}
	return next, change, nil
}

// Place assigns a payout that was found at a provider after a restore to its withdrawal, if that
// exists. known: the withdrawal had it already.
func (po *Payouts) Place(ctx context.Context, f pay.Found) (known, regained bool, err error) {
	object, round, _ := pay.ParsePayoutReference(f.Reference)
	w, err := po.Store.Withdrawals().Any(ctx, object)
	if errors.Is(err, store.ErrNotFound) {
		return false, false, nil
	}
	if err == nil && w.GoneTo(f.Reference, f.Account) && w.Status != pay.WithdrawalPending {
		if _, change, news := f.ListedPayout(w, po.TimeOf(w.Scope)); news {
			err = po.Commit(ctx, change, view.Cause{})
		}
		return err == nil, false, err
	}
	if err != nil {
		return false, false, err
	}
	by, err := po.Store.Hold(ctx)
	if err != nil {
		return false, false, err
	}
	float, err := po.floatFor(ctx, f.Account, w)
	if err != nil {
		return false, false, err
	}
	sent, change, err := f.RegainPayout(w, round, float, by, po.TimeOf(w.Scope))
	if err != nil {
		return false, false, err
	}
	change.Found = []pay.Found{base.AsTaken(f, object)}
	if err := po.Commit(ctx, change, view.Cause{}); err != nil {
		return false, false, err
	}
	// If a person pays, only the list can tell.
	if o := po.askPayout(ctx, sent); o.Kind == pay.PayoutHeld {
		err = po.resolvePayout(ctx, sent, pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: f.ProviderRef, Local: f.Local()})
	}
	return false, err == nil, err
}

// floatFor is what a found payout takes of its account's float, up to what is free: the operator
// books the rest.
func (po *Payouts) floatFor(ctx context.Context, account string, w pay.Withdrawal) (money.Amount, error) {
	have, err := po.floats.free(ctx, 1)
	need, free := have.of(account, w)
	if need.Minor > free.Minor {
		return money.Amount{}, err
	}
	return need, err
}
