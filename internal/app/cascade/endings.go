package cascade

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Ask queries an attempt's provider about its outcome. The outcome is unknown if there is no
// account to query, or if the account does not answer at present.
func (c *Cascade) Ask(ctx context.Context, p pay.Payment, attempt pay.Attempt, may bool) pay.Outcome {
	upstream, ok := c.providers.Upstream(attempt.Provider)
	if !ok {
		return pay.Outcome{Kind: pay.Unknown, Decline: "not_configured"}
	}
	if !may {
		return pay.Outcome{Kind: pay.Unknown, Decline: "not_asked"}
	}
	asking, cancel := context.WithTimeout(ctx, pay.CallTimeout)
	defer cancel()
	asking, call := c.Calling(asking, base.OpQuery, attempt.Provider, p.Reference(attempt.Order))
	o := call.EndedCharge(asking, upstream.Query(asking, c.Request(p, attempt)).AsQueried())
	c.lanes.Record(ctx, attempt.Provider, o.Kind != pay.Unknown)
	return o
}

// expire commits the decision about a payment whose window is over, after a last query.
func (c *Cascade) expire(ctx context.Context, p pay.Payment, o pay.Outcome) error {
	next, change := p.Expire(o, c.TimeOf(p.Scope))
	err := c.Commit(ctx, change, view.Cause{})
	if errors.Is(err, store.ErrStale) { // another request moved the payment meanwhile
		return nil
	}
	if err == nil && !next.Status.Open() && !next.Times.Unsure.IsZero() {
		c.Log.WarnContext(ctx, "a payment ended with an unknown outcome: it needs the operator", "payment", p.ID)
	}
	return err
}

// applyLook commits a provider's answer about a payment that ended unpaid.
func (c *Cascade) applyLook(ctx context.Context, p pay.Payment, o pay.Outcome) error {
	now := c.TimeOf(p.Scope)
	c.AssignClaims(p, &o, &pay.Cascade{})
	_, change := p.ApplyLook(o, c.NewID(pay.ClaimPrefix, now), now)
	return c.looked(ctx, change)
}

// looked commits the answer of a query about a payment that has ended.
func (c *Cascade) looked(ctx context.Context, change pay.Change) error {
	err := c.Commit(ctx, change, view.Cause{})
	if errors.Is(err, store.ErrStale) { // a notification came meanwhile; if not, it is due again at the end of the lease
		return nil
	}
	return err
}
