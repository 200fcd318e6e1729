package app

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// now is the time of whatever belongs to the scope: the service's clock, or
// the test clock of a sandbox merchant who moved it (SBX-12). Every
// time that is stored with a merchant's rows is this one. Credentials and
// signatures keep to the service's clock.
func (a *App) now(scope pay.Scope) time.Time {
	return a.Now().Add(a.advance(scope))
}

// advance is how far the scope's clock is ahead of the service's.
func (a *App) advance(scope pay.Scope) time.Duration {
	clocks := a.clocks.Load()
	if scope.Live || clocks == nil {
		return 0
	}
	return (*clocks)[scope.Merchant]
}

// readClocks learns of the test clocks that were moved, also on other nodes.
func (a *App) readClocks(ctx context.Context) error {
	list, err := a.store.Clocks(ctx)
	if err != nil {
		return err
	}
	clocks := make(map[string]time.Duration, len(list))
	for _, c := range list {
		clocks[c.Merchant] = c.Advance
	}
	before := a.clocks.Swap(&clocks)
	if before == nil || !maps.Equal(*before, clocks) {
		a.wake() // what was told to come due later may be due now
	}
	return nil
}

// notice reads what this node holds in memory again, because a use case has just written it. A database
// that cannot be read now makes nothing undone: the loop of that name reads it soon, and the caller is told
// what was done.
func (a *App) notice(ctx context.Context, loop string, read func(context.Context) error) {
	if err := read(ctx); err != nil {
		a.Log.WarnContext(ctx, "what was just written cannot be read: its loop does it", "loop", loop, "error", err)
	}
}

// Clock reads a merchant's test clock, and the time that it shows.
func (a *App) Clock(ctx context.Context, scope pay.Scope) (pay.Clock, time.Time, error) {
	if err := sandboxOnly(scope); err != nil {
		return pay.Clock{}, time.Time{}, err
	}
	c, err := a.clock(ctx, scope.Merchant)
	return c, a.Now().Add(c.Advance), err
}

func (a *App) clock(ctx context.Context, merchant string) (pay.Clock, error) {
	c, err := a.store.Clock(ctx, merchant)
	if errors.Is(err, store.ErrNotFound) {
		return pay.Clock{Merchant: merchant}, nil
	}
	return c, err
}

// MoveClock puts a merchant's test clock forward. What comes due by it is done
// by the loops, within moments.
func (a *App) MoveClock(ctx context.Context, scope pay.Scope, by time.Duration) (pay.Clock, time.Time, error) {
	if err := sandboxOnly(scope); err != nil {
		return pay.Clock{}, time.Time{}, err
	}
	moved, err := decided(func() (pay.Clock, error) {
		c, err := a.clock(ctx, scope.Merchant)
		if err != nil {
			return c, err
		}
		next, change, err := c.Move(by)
		if err != nil {
			return c, err
		}
		return next, a.store.Commit(ctx, change)
	})
	if err != nil {
		return pay.Clock{}, time.Time{}, err
	}
	a.notice(ctx, "clocks", a.readClocks)
	return moved, a.Now().Add(moved.Advance), nil
}

func sandboxOnly(scope pay.Scope) error {
	if scope.Live {
		return pay.NewError(pay.CodeProductionKeyRefused, "this is for the sandbox alone: use a test key (sk_test_…)")
	}
	return nil
}
