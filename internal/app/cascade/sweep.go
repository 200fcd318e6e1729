package cascade

import (
	"context"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/view"
)

// Sweep looks at due payments: pending ones whose provider may know more, ones whose window has
// passed, and ones with an unknown outcome. It waits until that is done, and returns how many it
// leased. Looking at one twice is harmless.
func (c *Cascade) Sweep(ctx context.Context) (int, error) { return base.Waiting(ctx, c.HandOut) }

// HandOut hands due payments to the lanes of their accounts.
func (c *Cascade) HandOut(ctx context.Context, begun *sync.WaitGroup) (int, error) {
	now := c.Now()
	due, err := c.Store.Payments().Lease(ctx, now, now.Add(pay.SweepLease), base.SweepBatch)
	if err != nil {
		return 0, err
	}
	for _, p := range due {
		attempt, _ := p.Attempts.Current()
		c.lanes.Submit(attempt.Provider, p.ID, begun, func(may bool) {
			if err := c.query(ctx, p, may); err != nil {
				c.Quiet.ComesAgain(ctx, p.Live, "a due payment could not be checked; it is retried later", err, "payment", p.ID)
			}
		})
	}
	return len(due), nil
}

// query queries the provider about a payment, if the account may be queried, and decides.
func (c *Cascade) query(ctx context.Context, p pay.Payment, may bool) error {
	attempt, ok := p.Attempts.Current()
	if !ok {
		return nil
	}
	routes := c.providers.Routes(p)
	var asked time.Time // the answer describes the charge at this time, however late it comes
	if p.Status == pay.Processing || attempt.Calls > 1 || p.Following() {
		node, err := c.Store.Hold(ctx)
		if err != nil {
			return err
		}
		asked = node.At
	}
	if p.Looking() {
		looked, err := c.askLeft(ctx, p)
		if err != nil {
			return err
		}
		p = looked
		if attempt, _ = p.Attempts.Current(); pay.OnlyLeft(p) {
			_, change := pay.LookedAtLeft(p, c.TimeOf(p.Scope))
			return c.looked(ctx, change)
		}
	}
	if p.Following() {
		return c.follow(ctx, p, attempt, may, asked)
	}
	o := attempt.UnlessListed(c.Ask(ctx, p, attempt, may))
	if p.Looking() {
		return c.applyLook(ctx, p, o)
	}
	expired := p.Overdue(c.TimeOf(p.Scope))
	if (expired || p.Canceling()) && o.Kind == pay.Awaiting {
		// After the window the payment ends even if Cancel's answer is unknown: the query has just said
		// that nobody paid. It is still queried afterwards.
		if said, can := c.Cancel(ctx, p, attempt); can && (said.Kind != pay.Unknown || !expired) {
			o = said
		}
	}
	told := o.Kind == pay.Approved || o.Kind == pay.Reversed || o.Kind == pay.Declined
	if p.Canceling() && !told && !(expired && o.Kind == pay.Unknown) {
		_, err := c.CancelBy(ctx, p, attempt, o, view.Cause{})
		return err
	}
	if expired && !told {
		return c.expire(ctx, p, o)
	}
	if o.Kind == pay.Missing && attempt.Status == pay.Sending && attempt.OnItsWay(asked) {
		return c.callAgain(ctx, p, routes)
	}
	p, goesOn, err := c.ApplyAnswer(ctx, p, attempt, o, asked, routes, view.Cause{})
	if err != nil || !goesOn {
		return err
	}
	if p, err = c.Drive(ctx, p, routes, view.Cause{}); err != nil {
		return err
	}
	return c.resume(ctx, p)
}

// follow queries the provider about the last attempt of a payment that an earlier attempt completed,
// and ends its charge if it can. Nobody wants the charge, so the query must not make it.
func (c *Cascade) follow(ctx context.Context, p pay.Payment, attempt pay.Attempt, may bool, asked time.Time) error {
	o := attempt.ProvedByQuery(attempt.UnlessListed(c.Ask(provider.Looking(ctx), p, attempt, may)), asked)
	if o.Kind == pay.Awaiting {
		if said, can := c.Cancel(ctx, p, attempt); can && said.Kind != pay.Unknown {
			o = said
		}
	}
	return c.applyLook(ctx, p, o)
}

// askLeft queries the providers of the pages that the shopper left for another try: one may have taken money although it said that its
// page had ended. A page that is open is ended once more. Money is applied as news of that attempt.
func (c *Cascade) askLeft(ctx context.Context, p pay.Payment) (pay.Payment, error) {
	for _, left := range pay.LeftPages(p) {
		asking := provider.Looking(ctx)
		o := left.UnlessListed(c.Ask(asking, p, left, c.lanes.May(left.Provider)))
		if o.Kind == pay.Awaiting {
			if said, can := c.Cancel(ctx, p, left); can && said.Kind != pay.Unknown {
				o = said
			}
		}
		if o.Kind != pay.Approved && o.Kind != pay.Reversed && len(o.Also) == 0 {
			p.Attempts = p.Attempts.CountQuery(left.Order, o.Kind != pay.Unknown)
			continue
		}
		next, _, err := c.ApplyAnswer(ctx, p, left, o, time.Time{}, c.providers.Routes(p), view.Cause{})
		if err != nil {
			return p, err
		}
		p = next
	}
	return p, nil
}

// callAgain makes the call of an attempt whose owner has died or is delayed. If the owner's call is
// on its way too, the provider treats both as one.
func (c *Cascade) callAgain(ctx context.Context, p pay.Payment, routes pay.Cascade) error {
	p, goesOn, err := c.resend(ctx, p)
	if err != nil || !goesOn {
		return err
	}
	if p, err = c.Drive(ctx, p, routes, view.Cause{}); err != nil {
		return err
	}
	return c.resume(ctx, p)
}

// resume ends the create call of a payment whose node died after its provider's answer.
func (c *Cascade) resume(ctx context.Context, p pay.Payment) error {
	if p.Work.Answered != "" || p.Status != pay.Pending {
		return nil
	}
	_, err := c.finish(ctx, p, view.Cause{})
	if err == nil {
		return nil
	}
	if read, readErr := c.Store.Payments().Any(ctx, p.ID); readErr == nil && read.Work.Answered != "" { // another node was faster
		return nil
	}
	return err
}
