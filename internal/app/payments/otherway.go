package payments

import (
	"cmp"
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// ChangeWay calls off a payment whose shopper wants to choose another way to pay, and returns the
// token of the session for the new choice. The provider is asked to end the charge first, if it
// can. A payment that was paid meanwhile is not called off: it is returned without a token.
//
// Errors: transaction_not_found; conflict_state if it was not chosen in a session, does not wait
// for its shopper, or has received money; service_unavailable with the reason pay.NotEnded if it is
// not known whether the charge has ended.
func (ss *Sessions) ChangeWay(ctx context.Context, id string, cause view.Cause) (p pay.Payment, token string, err error) {
	if err := ss.MayMoveMoney(); err != nil {
		return p, "", err
	}
	if p, err = ss.cascade.AnyPayment(ctx, id); err != nil {
		return p, "", err
	}
	if !p.End.WayChanged() { // a second click finds it called off already
		if may, err := ss.Changeable(ctx, p); err != nil || !may {
			return p, "", cmp.Or(err, p.CheckChange(), error(&problem.Error{Code: problem.ConflictState,
				Reason: noOtherWay, Details: problem.Details{From: string(p.Status), Action: "cancel"}}))
		}
		if p, err = ss.callOff(context.WithoutCancel(ctx), p, cause); err != nil || !p.End.WayChanged() {
			return p, "", err
		}
	}
	token, err = ss.RetryPayment(ctx, p.ID)
	return p, token, err
}

// Changeable reports whether a payment's shopper may call it off to choose another way to pay: it
// was chosen in a session, or a card was refused on the page of the method that the shop chose; it waits for the shopper, its order has
// not been paid, and the merchant may begin another one.
func (ss *Sessions) Changeable(ctx context.Context, p pay.Payment) (bool, error) {
	if p.CheckChange() != nil {
		return false, nil
	}
	if merchant, _, err := ss.Tenant(ctx, base.Principal{Scope: p.Scope}); err != nil || merchant.MayBegin(p.Live) != nil {
		return false, err
	}
	if _, held, err := ss.holder(ctx, p.Order.After); err != nil || held {
		return false, err
	}
	if ended, err := ss.linkEnded(ctx, p); err != nil || ended {
		return false, err
	}
	_, err := ss.Store.Sessions().Of(ctx, p.ID)
	if errors.Is(err, store.ErrNotFound) {
		attempt, _ := p.Attempts.Current()
		return p.Way.Sync && len(attempt.Tries) > 0, nil
	}
	return err == nil, err
}

// callOff ends a payment's charge at its provider and commits the result.
func (ss *Sessions) callOff(ctx context.Context, p pay.Payment, cause view.Cause) (pay.Payment, error) {
	attempt, _ := p.Attempts.Current()
	said := ss.cascade.EndCharge(ctx, p, attempt)
	if said.Kind == pay.Missing { // a voucher that the provider cannot find now
		said = pay.Outcome{Kind: pay.Unknown, Decline: "not_found"}
	}
	err := base.Again(func() error {
		next, change, err := p.ChangeWay(said, ss.providers.Routes(p), ss.TimeOf(p.Scope))
		if err != nil {
			return err
		}
		err = ss.Commit(ctx, change, cause)
		if errors.Is(err, store.ErrStale) { // a notification came meanwhile
			if read, readErr := ss.Store.Payments().Any(ctx, p.ID); readErr != nil {
				return readErr
			} else if p = read; p.CheckChange() != nil || len(p.Attempts) != attempt.Order { // the payment has ended, or goes on at a page that is still open
				return nil
			}
			return err
		}
		if err != nil {
			return err
		}
		p = next
		return nil
	})
	return p, err
}

// GoesOn reports whether the next try of a shopper whose card was refused on a page goes to another provider.
func (ss *Sessions) GoesOn(p pay.Payment) bool {
	return pay.CheckRetry(p) == nil && ss.providers.Routes(p).Stays(p, ss.TimeOf(p.Scope)) == "" && accounts.KeepsPage(ss.providers, p) == ""
}

// TryAgain moves a payment whose card was refused on a provider's page to the next provider, and returns it with that provider's page. The
// first provider is asked to end its page before, and has to prove that it can take no money any more. If the operator's rules leave the
// payment with its provider, if that cannot end its page or prove it, or if the merchant may begin nothing, it stays as it is: the shopper
// may try another card on the same page. A payment that was paid or ended meanwhile is returned as it is.
//
// Errors: transaction_not_found; conflict_state as pay.CheckRetry, or if money of the order is held; service_unavailable with the reason pay.NotEnded if it is
// not known whether the page has ended.
func (ss *Sessions) TryAgain(ctx context.Context, id string, cause view.Cause) (p pay.Payment, err error) {
	if err := ss.MayMoveMoney(); err != nil {
		return p, err
	}
	if p, err = ss.cascade.AnyPayment(ctx, id); err != nil {
		return p, err
	}
	if err := pay.CheckRetry(p); err != nil {
		return p, err
	}
	if err := ss.paidFor(ctx, p.Order.After); err != nil {
		return p, err
	}
	merchant, _, err := ss.Tenant(ctx, base.Principal{Scope: p.Scope})
	if err != nil || merchant.MayBegin(p.Live) != nil || ss.providers.Routes(p).Stays(p, ss.TimeOf(p.Scope)) != "" {
		return p, err
	}
	ctx = context.WithoutCancel(ctx) // the shopper may close the page: what begins must end
	attempt, _ := p.Attempts.Current()
	if accounts.Doubts(ss.providers, p) != "" {
		return p, nil
	}
	said := ss.cascade.EndCharge(ctx, p, attempt)
	if said.Kind == pay.Awaiting { // its page cannot be ended
		return p, nil
	}
	routes, opened := pay.Cascade{}, false
	err = base.Again(func() error {
		opened = false
		routes = ss.providers.Routes(p)
		by, err := ss.Store.Hold(ctx)
		if err != nil {
			return err
		}
		o := said
		ss.cascade.AssignClaims(p, &o, &routes)
		routes.By = by
		next, change, err := routes.TryAgain(p, o, ss.TimeOf(p.Scope))
		if err != nil {
			return err
		}
		err = ss.Commit(ctx, change, cause)
		if errors.Is(err, store.ErrStale) { // a notification came meanwhile, or a second click
			if read, readErr := ss.Store.Payments().Any(ctx, p.ID); readErr != nil {
				return readErr
			} else if p = read; len(p.Attempts) != attempt.Order || pay.CheckRetry(p) != nil {
				return nil
			}
			return err
		}
		if err != nil {
			return err
		}
		p, opened = next, true
		return nil
	})
	if err != nil || !opened {
		return p, err
	}
	return ss.cascade.Drive(ctx, p, routes, cause)
}
