package app

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// takeRefund applies what a provider tells of a refund.
func (a *Refunds) takeRefund(ctx context.Context, n pay.Notice, cause view.Cause) error {
	id, _, ok := pay.ParseRefundReference(n.Refund)
	if !ok || !base.Storable(id) {
		return acquiring.NotOurs()
	}
	return base.Again(func() error {
		c, err := a.Store.AnyClaim(ctx, id)
		if err != nil {
			return base.OrRefuse(err, acquiring.NotOurs())
		}
		p, err := a.Store.AnyPayment(ctx, c.Payment)
		if err != nil {
			return err
		}
		if attempt, ok := p.Taker(c); !ok || attempt.Provider != n.Account {
			a.Log.WarnContext(ctx, "a notification is about another account's refund", "account", n.Account, "claim", c.ID)
			return acquiring.NotOurs()
		}
		now, err := a.AskedAt(ctx)
		if err != nil {
			return err
		}
		notice := n
		if c.Calling() { // else it is compared with what was decided
			notice.Outcome = c.Call.Told(n.Outcome.Asked(), now)
		}
		_, change := c.ConfirmRefund(p, notice, a.TimeOf(c.Scope))
		err = a.Commit(ctx, change, cause)
		if errors.Is(err, store.ErrDuplicate) { // told before
			return nil
		}
		if err == nil {
			a.FlagReceipts(ctx, change)
		}
		return err
	})
}
