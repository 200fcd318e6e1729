package app

import (
	"context"
	"maps"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// now is the time of whatever belongs to the scope: the service's clock, or
// the test clock of a sandbox merchant who moved it (SBX-12). Every
// time that is stored with a merchant's rows is this one. Credentials and
// signatures keep to the service's clock.
func (a *Base) now(scope pay.Scope) time.Time {
	return a.Now().Add(a.advance(scope))
}

// advance is how far the scope's clock is ahead of the service's.
func (a *Base) advance(scope pay.Scope) time.Duration {
	clocks := a.clocks.Load()
	if scope.Live || clocks == nil {
		return 0
	}
	return (*clocks)[scope.Merchant]
}

// readClocks learns of the test clocks that were moved, also on other nodes.
func (a *Base) readClocks(ctx context.Context) error {
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
func (a *Base) notice(ctx context.Context, loop string, read func(context.Context) error) {
	if err := read(ctx); err != nil {
		a.Log.WarnContext(ctx, "what was just written cannot be read: its loop does it", "loop", loop, "error", err)
	}
}
