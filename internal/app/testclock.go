package app

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// Clock reads a merchant's test clock, and the time that it shows.
func (a *Sandbox) Clock(ctx context.Context, scope pay.Scope) (pay.Clock, time.Time, error) {
	if err := sandboxOnly(scope); err != nil {
		return pay.Clock{}, time.Time{}, err
	}
	c, err := a.clock(ctx, scope.Merchant)
	return c, a.Now().Add(c.Advance), err
}

func (a *Sandbox) clock(ctx context.Context, merchant string) (pay.Clock, error) {
	c, err := a.Store.Clock(ctx, merchant)
	if errors.Is(err, store.ErrNotFound) {
		return pay.Clock{Merchant: merchant}, nil
	}
	return c, err
}

// MoveClock puts a merchant's test clock forward. What comes due by it is done
// by the loops, within moments.
func (a *Sandbox) MoveClock(ctx context.Context, scope pay.Scope, by time.Duration) (pay.Clock, time.Time, error) {
	if err := sandboxOnly(scope); err != nil {
		return pay.Clock{}, time.Time{}, err
	}
	moved, err := base.Decide(func() (pay.Clock, error) {
		c, err := a.clock(ctx, scope.Merchant)
		if err != nil {
			return c, err
		}
		next, change, err := c.Move(by)
		if err != nil {
			return c, err
		}
		return next, a.Store.Commit(ctx, change)
	})
	if err != nil {
		return pay.Clock{}, time.Time{}, err
	}
	a.Reread(ctx, "clocks", a.ReadClocks)
	return moved, a.Now().Add(moved.Advance), nil
}

func sandboxOnly(scope pay.Scope) error {
	if scope.Live {
		return pay.NewError(pay.CodeProductionKeyRefused, "this is for the sandbox alone: use a test key (sk_test_…)")
	}
	return nil
}
