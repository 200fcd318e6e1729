package cascade

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Regain gives a new payment the id, the amount and the attempt that a provider's list has for the
// same request. tries are the earlier attempts.
func (c *Cascade) Regain(p pay.Payment, at pay.Found, tries []pay.Found, by pay.Caller, now time.Time) (pay.Payment, pay.Change, error) {
	object, order, ok := pay.ParseReference(at.Reference)
	if !ok {
		return p, pay.Change{}, fmt.Errorf("found %s: it is not one of our charges", at.ID())
	}
	if p.Price.Local.Currency == at.Currency && !base.Nearly(p.Price.Local, at.Local()) {
		return p, pay.Change{}, base.OtherThanFound(at)
	}
	p.ID = object
	p, err := at.Priced(p)
	if err != nil {
		return p, pay.Change{}, err
	}
	p, change, err := at.Regain(p, order, by, now)
	if err != nil {
		return p, change, err
	}
	for _, f := range append(tries, at) {
		if f.Open() {
			change.Found = append(change.Found, f.Taken(object))
		}
	}
	return p, change, nil
}

// RegainPayment answers a create call that was carried out in the lost window. The provider is
// queried, and not called.
func (c *Cascade) RegainPayment(ctx context.Context, p pay.Payment, at pay.Found, tries []pay.Found, by pay.Caller, i base.Idempotency, cause view.Cause) (pay.Payment, error) {
	now := c.TimeOf(p.Scope)
	p, change, err := c.Regain(p, at, tries, by, now)
	if err != nil {
		return p, err
	}
	change.Once = i.Guard(p.Scope, p.ID, now)
	err = c.Commit(ctx, change, cause)
	if errors.Is(err, store.ErrDuplicate) || errors.Is(err, store.ErrStale) { // the same request at the same time
		return c.Repeat(ctx, p.Scope, i)
	}
	if err != nil {
		return p, err
	}
	c.Log.Info("a payment that the database had lost was recovered", "payment", p.ID)
	p, err = c.AskAfter(context.WithoutCancel(ctx), p)
	return p, c.Unfinished(p, err)
}

// AskAfter queries a payment that this node has in hand and has not called.
func (c *Cascade) AskAfter(ctx context.Context, p pay.Payment) (pay.Payment, error) {
	if err := c.query(ctx, p, true); err != nil {
		return p, err
	}
	return c.Store.Payments().Any(ctx, p.ID)
}
