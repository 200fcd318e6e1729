package cascade

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// EndCharge asks a payment's provider to end its charge. If the provider cannot do that, it is
// queried about the charge.
func (c *Cascade) EndCharge(ctx context.Context, p pay.Payment, attempt pay.Attempt) pay.Outcome {
	if o, can := c.Cancel(ctx, p, attempt); can && o.Kind != pay.Awaiting {
		return o
	}
	return attempt.UnlessListed(c.Ask(ctx, p, attempt, true))
}

// Cancel asks an attempt's provider to end its charge, so that it cannot be paid any more. The
// result is false if the provider cannot do that. The shopper may have paid before.
func (c *Cascade) Cancel(ctx context.Context, p pay.Payment, attempt pay.Attempt) (pay.Outcome, bool) {
	upstream, _ := c.providers.Upstream(attempt.Provider)
	canceler, can := upstream.(provider.Canceler)
	if !can {
		return pay.Outcome{}, false
	}
	ctx, done := context.WithTimeout(ctx, pay.CallTimeout)
	defer done()
	ctx, call := c.Calling(ctx, base.OpCancel, attempt.Provider, p.Reference(attempt.Order))
	return call.EndedCharge(ctx, canceler.Cancel(ctx, c.Request(p, attempt)).AsQueried()), true
}

// CancelBy commits the provider's answer for a payment that is Canceling, and returns the payment,
// even if another node has moved it meanwhile.
func (c *Cascade) CancelBy(ctx context.Context, p pay.Payment, attempt pay.Attempt, o pay.Outcome, cause view.Cause) (pay.Payment, error) {
	if o.Kind == pay.Approved || o.Kind == pay.Reversed || o.Kind == pay.Declined {
		next, goesOn, err := c.ApplyAnswer(ctx, p, attempt, o, time.Time{}, c.providers.Routes(p), cause)
		if err != nil || goesOn {
			return next, err
		}
		return c.Store.Payments().Any(ctx, p.ID)
	}
	err := base.Again(func() error {
		if !p.Canceling() {
			return nil
		}
		next, change := p.Cancel(o, c.TimeOf(p.Scope))
		err := c.Commit(ctx, change, cause)
		if err == nil {
			p = next
			return nil
		}
		if errors.Is(err, store.ErrStale) {
			var other error
			if p, other = c.Store.Payments().Any(ctx, p.ID); other != nil {
				return other
			}
		}
		return err
	})
	return p, err
}
