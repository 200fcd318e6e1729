package cascade

import (
	"context"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
)

// Begin returns the change that creates a payment, for the request with the mark: with the intent of its first attempt, or with the
// attempt that a provider made for the same request before a restore. replayed: it is that one, and is queried.
//
// Errors: conflict_state, idempotency_conflict if the found one cannot be this payment.
func (c *Cascade) Begin(ctx context.Context, p pay.Payment, mark base.Mark, routes pay.Cascade, now time.Time) (_ pay.Payment, change pay.Change, replayed bool, err error) {
	at, tries, found, err := c.FoundOf(ctx, mark, pay.FoundCharge)
	switch {
	case err != nil:
		return p, change, false, err
	case found:
		p, change, err = c.regain(p, at, tries, routes.By, now)
		return p, change, err == nil, err
	}
	p, change = p.Begin(routes, now)
	return p, change, false, nil
}

// regain gives a new payment the id, the amount and the attempt that a provider's list has for the
// same request. tries are the earlier attempts.
func (c *Cascade) regain(p pay.Payment, at pay.Found, tries []pay.Found, by pay.Caller, now time.Time) (pay.Payment, pay.Change, error) {
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
			change.Found = append(change.Found, f.Assigned(object))
		}
	}
	return p, change, nil
}

// regained reports whether the payment was begun with an attempt that a provider had made already.
func regained(p pay.Payment) bool {
	attempt, _ := p.Attempts.Current()
	return p.Status == pay.Processing && attempt.Found && attempt.Status == pay.Sending
}

// askAfter queries a payment that was regained: it was not called by this node.
func (c *Cascade) askAfter(ctx context.Context, p pay.Payment) (pay.Payment, error) {
	c.Log.Info("a payment that the database had lost was recovered", "payment", p.ID)
	if err := c.query(ctx, p, true); err != nil {
		return p, err
	}
	return c.Store.Payments().Any(ctx, p.ID)
}
