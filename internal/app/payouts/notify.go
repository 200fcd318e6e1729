package payouts

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/limit"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// ApplyPayoutNotices applies a payout provider's notification. Each notice is applied at most once, by the same
// code as the answers to queries.
//
// Errors: those of accounts.Providers.RefuseNotice, service_unavailable.
func (po *Payouts) ApplyPayoutNotices(ctx context.Context, account string, listener provider.PayoutListener, n accounts.Notification) error {
	n.Asks = func(ctx context.Context, reference, own string) error { return po.mayAsk(ctx, account, reference, own) }
	notices, err := po.providers.PayoutNotices(ctx, account, listener, n)
	if err != nil {
		return po.providers.RefuseNotice(ctx, account, err)
	}
	// A notice that cannot be applied does not stop the others.
	var failed error
	for _, notice := range notices {
		err := po.applyPayout(ctx, account, notice)
		if errors.Is(err, accounts.ErrNotOurs) {
			err = po.providers.KeepUnknown(ctx, account, notice.Unknown(), err)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// Buckets of the queries that notifications without a signature cause: about one payout, about all payouts of an account,
// and of an account about payouts under way whose own reference there is not known yet, so that any may be meant.
var (
	askedOfPayout   = limit.Bucket{Every: 5 * time.Second, Burst: 5}
	askedOfAccount  = limit.PerSecond(10, 100)
	askedOfNameless = limit.PerSecond(1, 20)
)

// mayAsk refuses to ask an account about a payout that an unsigned notification names, unless it is there. One that had
// arrived may have come back, so it need not be under way. Nobody learns from the answer which payouts there are.
//
// Errors: provider.ErrNotOurs, rate_limited.
func (po *Payouts) mayAsk(ctx context.Context, account, reference, own string) error {
	if !base.Storable(reference) || !base.Storable(own) {
		return provider.ErrNotOurs
	}
	w, n, err := po.toldOf(ctx, account, pay.PayoutNotice{Reference: reference, ProviderRef: own})
	object, answer := n.Reference, askedOfPayout
	switch {
	case err == nil && !w.GoneTo(n.Reference, account):
		return provider.ErrNotOurs
	case errors.Is(err, store.ErrNotFound) && own != "":
		nameless, err := po.Store.Withdrawals().Nameless(ctx, account)
		if err != nil {
			return err
		}
		if !nameless {
			return provider.ErrNotOurs
		}
		object, answer = "", askedOfNameless
	case errors.Is(err, store.ErrNotFound):
		return provider.ErrNotOurs
	case err != nil:
		return err
	}
	now := po.Now()
	if !po.asked.Spend(limit.Key{Kind: "payout", Owner: account, Object: object}, answer, now).OK || !po.asked.Spend(limit.Key{Kind: "account", Owner: account}, askedOfAccount, now).OK {
		return problem.New(problem.RateLimited, payoutAskedTooOften)
	}
	return nil
}

// applyPayout applies one notice.
func (po *Payouts) applyPayout(ctx context.Context, account string, n pay.PayoutNotice) error {
	if !base.Storable(n.ID) {
		return problem.New(problem.InvalidRequest, base.NotUnderstood)
	}
	n, unread := n.Storable()
	po.Quiet.Unread(ctx, account, n.Reference, unread)
	return base.Again(func() error {
		w, n, err := po.toldOf(ctx, account, n)
		if errors.Is(err, store.ErrNotFound) {
			return po.unknown(ctx, account, n)
		}
		if err != nil {
			return err
		}
		if !w.GoneTo(n.Reference, account) {
			return accounts.ErrElsewhere
		}
		node, err := po.Store.Hold(ctx)
		if err != nil {
			return err
		}
		_, change, _ := w.ApplyPayoutNotice(n, account, w.Payout.PayoutProvedByQuery(n.Outcome, node.At), po.TimeOf(w.Scope))
		err = po.Commit(ctx, change, view.Cause{})
		if errors.Is(err, store.ErrDuplicate) { // a known notice
			return nil
		}
		return err
	})
}

// unknown is the error for a notice about an unknown payout.
//
// Errors: service_unavailable if it may be about a payout under way, of which the provider's own reference is not known
// yet; accounts.ErrNotOurs.
func (po *Payouts) unknown(ctx context.Context, account string, n pay.PayoutNotice) error {
	if n.Reference != "" {
		return accounts.ErrNotOurs
	}
	nameless, err := po.Store.Withdrawals().Nameless(ctx, account)
	switch {
	case err != nil:
		return err
	case nameless:
		po.Quiet.WarnSometimes(ctx, "a notification may be about a payout under way, and has to come again", account, "account", account, "reference", provider.Printable(n.ProviderRef, 64))
		return &problem.Error{Code: problem.ServiceUnavailable, Reason: payoutMayBeThis}
	}
	return accounts.ErrNotOurs
}

// toldOf finds the withdrawal of a notice: by our reference, or by the provider's if it has only
// that. Then it adds our reference to the notice.
//
// Errors: store.ErrNotFound.
func (po *Payouts) toldOf(ctx context.Context, account string, n pay.PayoutNotice) (pay.Withdrawal, pay.PayoutNotice, error) {
	if n.Reference == "" {
		w, err := po.Store.Withdrawals().At(ctx, account, n.ProviderRef)
		if err == nil {
			n.Reference = w.Reference()
		}
		return w, n, err
	}
	id, _, ok := pay.ParsePayoutReference(n.Reference)
	if !ok || !base.Storable(id) {
		return pay.Withdrawal{}, n, store.ErrNotFound
	}
	w, err := po.Store.Withdrawals().Any(ctx, id)
	return w, n, err
}
