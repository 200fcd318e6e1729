package claims

import (
	"context"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// regainRefund returns the refund that a provider made for the same request in the lost window; replayed if there is one. It is
// queried, and not requested.
//
// Errors: store.ErrDuplicate if the same request was first.
func (cl *Claims) regainRefund(ctx context.Context, p pay.Payment, n pay.NewRefund, by audit.Actor, i base.Idempotency, cause view.Cause) (Claimed, error) {
	at, _, found, err := cl.FoundOf(ctx, i.Mark(cl.Vault, p.Scope), pay.FoundRefund)
	if err != nil || !found {
		return Claimed{}, err
	}
	var claim pay.Claim
	switch {
	case at.Object != "": // the operator's list brought it back: only its key is not known
		if claim, err = cl.Store.Claims().Get(ctx, p.Scope, at.Object); err != nil {
			return Claimed{}, err
		}
		err = cl.Store.Commit(ctx, pay.Change{Once: i.Guard(p.Scope, claim.ID, cl.TimeOf(p.Scope))})
		if errors.Is(err, store.ErrDuplicate) {
			err = nil
		}
	case !n.Amount.IsZero() && n.Amount != at.Local():
		err = base.OtherThanFound(at)
	default:
		claim, err = cl.openFound(ctx, p, n, at, by, i, cause)
	}
	return Claimed{claim: claim, payment: p, replayed: err == nil}, err
}

// openFound opens a refund that a provider's list has, and queries it.
func (cl *Claims) openFound(ctx context.Context, p pay.Payment, n pay.NewRefund, at pay.Found, by audit.Actor, i base.Idempotency, cause view.Cause) (pay.Claim, error) {
	claim, round, ok := pay.ParseRefundReference(at.Reference)
	if !ok {
		return pay.Claim{}, fmt.Errorf("found %s: it is not one of our refunds", at.ID())
	}
	n.ID, n.Round, n.Amount, n.Found = claim, round, at.Local(), []pay.Found{at.Assigned(claim)}
	opened, _, err := cl.decideRefund(ctx, p, n, nil, by, i, cause)
	if err != nil {
		return opened.claim, err
	}
	if _, err := cl.askRefund(context.WithoutCancel(ctx), opened.claim, true); err != nil {
		cl.Log.Error("a refund's outcome was not written; it is queried again", "claim", opened.claim.ID, "error", err)
	}
	return opened.claim, nil
}

// PlaceRefund assigns a refund that was found at a provider after a restore to its claim, or opens
// a claim for it if its payment exists. known: the claim had it already.
func (cl *Claims) PlaceRefund(ctx context.Context, f pay.Found, l reconcile.Line) (known, regained bool, err error) {
	claim, round, _ := pay.ParseRefundReference(f.Reference)
	if c, err := cl.Store.Claims().Any(ctx, claim); err == nil {
		return cl.placeKnownRefund(ctx, c, f, round)
	} else if !errors.Is(err, store.ErrNotFound) {
		return false, false, err
	}
	payment, _, named := pay.ParseReference(l.Reference)
	if !named || l.Reference == f.Reference {
		return false, false, nil
	}
	p, err := cl.Store.Payments().Any(ctx, payment)
	if errors.Is(err, store.ErrNotFound) {
		return false, false, nil
	}
	if err == nil {
		p, err = base.Settled(ctx, cl.Base, p)
	}
	if err != nil {
		return false, false, err
	}
	f.Version-- // openFound writes it as taken at once, see base.AsTaken
	_, err = cl.openFound(ctx, p, pay.NewRefund{Reason: "found at the provider after a restore"}, f, cl.Self(), base.Idempotency{}, view.Cause{})
	return false, err == nil, err
}

// placeKnownRefund assigns a found refund to its claim. If the claim in the copy had not got that
// far, the refund is queried.
func (cl *Claims) placeKnownRefund(ctx context.Context, c pay.Claim, f pay.Found, round int) (known, regained bool, err error) {
	listed, asks := c, false
	listed, err = cl.onClaim(ctx, c.ID, view.Cause{}, func(c pay.Claim, p pay.Payment) (pay.Claim, pay.Change, error) {
		by, err := cl.Store.Hold(ctx)
		if err != nil {
			return c, pay.Change{}, err
		}
		known = round <= c.Call.Round
		next, change, news, err := f.ListedRefund(c.InHandOf(by), p, round, cl.TimeOf(c.Scope))
		if asks = news; news && !known {
			change.Found = []pay.Found{base.AsTaken(f, c.ID)}
		}
		return next, change, err
	})
	if err != nil || !asks {
		return known && err == nil, false, err
	}
	if _, err := cl.askRefund(ctx, listed, true); err != nil {
		cl.Log.ErrorContext(ctx, "a refund's outcome was not written; it is queried again", "claim", c.ID, "error", err)
	}
	return known, !known, nil
}
