package claims

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/acquiring"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Told applies a provider's notice about a refund.
func (rf *Claims) Told(ctx context.Context, n pay.Notice, cause view.Cause) error {
	id, _, ok := pay.ParseRefundReference(n.Refund)
	if !ok || !base.Storable(id) {
		return acquiring.NotOurs()
	}
	return base.Again(func() error {
		c, err := rf.Store.Claims().Any(ctx, id)
		if err != nil {
			return base.OrRefuse(err, acquiring.NotOurs())
		}
		p, err := rf.Store.Payments().Any(ctx, c.Payment)
		if err != nil {
			return err
		}
		if attempt, ok := c.Taker(p); !ok || attempt.Provider != n.Account {
			rf.Log.WarnContext(ctx, "a notification is about another account's refund", "account", n.Account, "claim", c.ID)
			return acquiring.NotOurs()
		}
		node, err := rf.Store.Hold(ctx)
		if err != nil {
			return err
		}
		notice := n
		if c.Calling() { // otherwise the notice is compared with the refund's end
			notice.Outcome = c.Call.Told(n.Outcome.Asked(), node.At)
		}
		_, change := c.ConfirmRefund(p, notice, rf.TimeOf(c.Scope))
		err = rf.Commit(ctx, change, cause)
		if errors.Is(err, store.ErrDuplicate) { // a known notice
			return nil
		}
		return err
	})
}
