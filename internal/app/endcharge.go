package app

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

// endCharge tells the provider of a payment to end its charge. Where it has no way to, or
// says that it cannot, it is asked how the charge stands.
func (a *Cascade) endCharge(ctx context.Context, p pay.Payment, attempt pay.Attempt) pay.Outcome {
	if o, can := a.cancel(ctx, p, attempt); can && o.Kind != pay.Awaiting {
		return o
	}
	return attempt.Heard(a.ask(ctx, p, attempt, true))
}

// cancel tells the provider of an attempt to end its charge, so that nobody pays it any
// more; false where it has no way to. The shopper may have been faster.
func (a *Cascade) cancel(ctx context.Context, p pay.Payment, attempt pay.Attempt) (pay.Outcome, bool) {
	upstream, _ := a.providers.Upstream(attempt.Provider)
	canceler, can := upstream.(provider.Canceler)
	if !can {
		return pay.Outcome{}, false
	}
	ctx, done := context.WithTimeout(ctx, base.CallTimeout)
	defer done()
	ctx, call := a.Calling(ctx, base.OpCancel, attempt.Provider, p.Reference(attempt.Order))
	return call.Heard(ctx, canceler.Cancel(ctx, a.request(p, attempt)).Asked()), true
}

// cancelBy commits what follows for a payment that is Canceling from what its provider
// says, and returns it as it is then: also where somebody else has moved it meanwhile.
func (a *Cascade) cancelBy(ctx context.Context, p pay.Payment, attempt pay.Attempt, o pay.Outcome, cause view.Cause) (pay.Payment, error) {
	if o.Kind == pay.Approved || o.Kind == pay.Declined {
		next, mine, err := a.settle(ctx, p, attempt, o, time.Time{}, a.providers.Routes(p), cause)
		if err != nil || mine {
			return next, err
		}
		return a.Store.AnyPayment(ctx, p.ID)
	}
	err := base.Again(func() error {
		if !p.Canceling() {
			return nil
		}
		next, change := p.Cancel(o, a.TimeOf(p.Scope))
		err := a.Commit(ctx, change, cause)
		if err == nil {
			p = next
			return nil
		}
		if errors.Is(err, store.ErrStale) {
			var other error
			if p, other = a.Store.AnyPayment(ctx, p.ID); other != nil {
				return other
			}
		}
		return err
	})
	return p, err
}
