package base

import (
	"context"
	"maps"
	"time"

	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// TimeOf is the time of whatever belongs to the scope: the service's clock, or
// the test clock of a sandbox merchant who moved it (SBX-12). Every
// time that is stored with a merchant's rows is this one. Credentials and
// signatures keep to the service's clock.
func (b *Base) TimeOf(scope tenant.Scope) time.Time {
	return b.Now().Add(b.Advance(scope))
}

// Advance is how far the scope's clock is ahead of the service's.
func (b *Base) Advance(scope tenant.Scope) time.Duration {
	clocks := b.Clocks.Load()
	if scope.Live || clocks == nil {
		return 0
	}
	return (*clocks)[scope.Merchant]
}

// ReadClocks learns of the test clocks that were moved, also on other nodes.
func (b *Base) ReadClocks(ctx context.Context) error {
	list, err := b.Store.Clocks.List(ctx)
	if err != nil {
		return err
	}
	clocks := make(map[string]time.Duration, len(list))
	for _, c := range list {
		clocks[c.Merchant] = c.Advance
	}
	before := b.Clocks.Swap(&clocks)
	if before == nil || !maps.Equal(*before, clocks) {
		b.wake() // what was told to come due later may be due now
	}
	return nil
}

// Reread reads what this node holds in memory again, because a use case has just written it. A database
// that cannot be read now makes nothing undone: the loop of that name reads it soon, and the caller is told
// what was done.
func (b *Base) Reread(ctx context.Context, loop string, read func(context.Context) error) {
	if err := read(ctx); err != nil {
		b.Log.WarnContext(ctx, "what was just written cannot be read: its loop does it", "loop", loop, "error", err)
	}
}
