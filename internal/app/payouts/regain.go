package payouts

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// regainNewPayout is a new withdrawal as the one that an account has of the same request.
func (po *Payouts) regainNewPayout(ctx context.Context, made pay.Withdrawal, change pay.Change, at pay.Found, now time.Time) (pay.Withdrawal, pay.Change, error) {
	object, round, _ := pay.ParsePayoutReference(at.Reference)
	switch {
	case !base.Nearly(made.Local, at.Local()):
		return made, change, base.OtherThanFound(at)
	case at.Object != "":
		return made, change, base.ErrDealtWith
	}
	by, err := po.Caller(ctx)
	if err != nil {
		return made, change, err
	}
	made.Local = at.Local()
	float, err := po.floatFor(ctx, at.Account, made)
	if err != nil {
		return made, change, err
	}
	next, sent, err := made.Regain(at, round, float, by, now)
	if err != nil {
		return made, change, err
	}
	next.Version = made.Version // both in one row
	change.Withdrawals, change.Transfers, change.Floors = []pay.Withdrawal{next}, append(change.Transfers, sent.Transfers...), append(change.Floors, sent.Floors...)
	change.Found = []pay.Found{at.Taken(object)}
	return next, change, nil
}

// Place gives a payout that was found at a provider after a restore to its withdrawal, where that is there;
// known says that it had it before.
func (po *Payouts) Place(ctx context.Context, f pay.Found) (known, regained bool, err error) {
	object, round, _ := pay.ParsePayoutReference(f.Reference)
	w, err := po.Store.Withdrawals.Any(ctx, object)
	if errors.Is(err, store.ErrNotFound) {
		return false, false, nil
	}
	if err == nil && w.GoneTo(f.Reference, f.Account) && w.Status != pay.WithdrawalPending {
		if _, change, news := w.Listed(f, po.TimeOf(w.Scope)); news {
			err = po.Commit(ctx, change, view.Cause{})
		}
		return err == nil, false, err
	}
	if err != nil {
		return false, false, err
	}
	by, err := po.Caller(ctx)
	if err != nil {
		return false, false, err
	}
	float, err := po.floatFor(ctx, f.Account, w)
	if err != nil {
		return false, false, err
	}
	sent, change, err := w.Regain(f, round, float, by, po.TimeOf(w.Scope))
	if err != nil {
		return false, false, err
	}
	change.Found = []pay.Found{base.AsTaken(f, object)}
	if err := po.Commit(ctx, change, view.Cause{}); err != nil {
		return false, false, err
	}
	// Where a person pays, nobody but the list can tell.
	if o := po.askPayout(ctx, sent); o.Kind == pay.PayoutHeld {
		err = po.resolvePayout(ctx, sent, pay.PayoutOutcome{Kind: pay.PayoutPaid, ProviderRef: f.ProviderRef, Local: f.Local()})
	}
	return false, err == nil, err
}

// floatFor is what a payout that was found takes of its account's float, as far as that has it: the
// operator books the rest.
func (po *Payouts) floatFor(ctx context.Context, account string, w pay.Withdrawal) (money.Amount, error) {
	have, err := po.floats.free(ctx, 1)
	need, free := have.of(account, w)
	if need.Minor > free.Minor {
		return money.Amount{}, err
	}
	return need, err
}
