package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// Clock reads a merchant's test clock, and the time that it shows.
func (sb *Sandbox) Clock(ctx context.Context, scope pay.Scope) (pay.Clock, time.Time, error) {
	if err := sandboxOnly(scope); err != nil {
		return pay.Clock{}, time.Time{}, err
	}
	c, err := sb.clock(ctx, scope.Merchant)
	return c, sb.Now().Add(c.Advance), err
}

func (sb *Sandbox) clock(ctx context.Context, merchant string) (pay.Clock, error) {
	c, err := sb.Store.Clocks.Get(ctx, merchant)
	if errors.Is(err, store.ErrNotFound) {
		return pay.Clock{Merchant: merchant}, nil
	}
	return c, err
}

// MoveClock puts a merchant's test clock forward. What comes due by it is done
// by the loops, within moments.
func (sb *Sandbox) MoveClock(ctx context.Context, scope pay.Scope, by time.Duration) (pay.Clock, time.Time, error) {
	if err := sandboxOnly(scope); err != nil {
		return pay.Clock{}, time.Time{}, err
	}
	moved, err := base.Decide(func() (pay.Clock, error) {
		c, err := sb.clock(ctx, scope.Merchant)
		if err != nil {
			return c, err
		}
		next, err := c.Move(by)
		if err != nil {
			return c, err
		}
		return next, sb.Store.Commit(ctx, pay.Change{Clocks: []pay.Clock{next}})
	})
	if err != nil {
		return pay.Clock{}, time.Time{}, err
	}
	sb.Reread(ctx, "clocks", sb.ReadClocks)
	return moved, sb.Now().Add(moved.Advance), nil
}

func sandboxOnly(scope pay.Scope) error {
	if scope.Live {
		return pay.NewError(pay.CodeProductionKeyRefused, "this is for the sandbox alone: use a test key (sk_test_…)")
	}
	return nil
}
