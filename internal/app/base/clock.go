package base

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Clocks tells the time of each scope.
type Clocks struct {
	now   func() time.Time
	moved atomic.Pointer[map[string]time.Duration] // test clocks of merchants who moved theirs; nil before they were read

	reads  atomic.Int64 // how many reads have begun
	mu     sync.Mutex   // owns the next field
	newest int64        // the number of the read whose clocks are kept
}

// TimeOf is the time for everything that belongs to the scope: the service's clock, or the test
// clock of a sandbox merchant who moved it (SBX-12). Every time that is stored with a merchant's
// rows is this one. Credentials and signatures use the service's clock.
func (c *Clocks) TimeOf(scope merchants.Scope) time.Time {
	return c.now().Add(c.Advance(scope))
}

// Advance is how far the scope's clock is ahead of the service's.
func (c *Clocks) Advance(scope merchants.Scope) time.Duration {
	advance, _ := c.advance(scope)
	return advance
}

// Moved reports whether the scope's clock was ever moved.
func (c *Clocks) Moved(scope merchants.Scope) bool {
	_, moved := c.advance(scope)
	return moved
}

func (c *Clocks) advance(scope merchants.Scope) (time.Duration, bool) {
	all := c.moved.Load()
	if scope.Live || all == nil {
		return 0, false
	}
	advance, moved := (*all)[scope.Merchant]
	return advance, moved
}

// ReadClocks reads the test clocks that were moved, on any node.
func (b *Base) ReadClocks(ctx context.Context) error {
	began := b.reads.Add(1)
	list, err := b.Store.Clocks().List(ctx)
	if err != nil {
		return err
	}
	clocks := make(map[string]time.Duration, len(list))
	for _, c := range list {
		clocks[c.Merchant] = c.Advance
	}
	if b.keep(began, clocks) {
		b.wake() // work that was due later may be due now
	}
	return nil
}

// keep takes the clocks that a read found, unless a read that began later was faster. It reports whether a clock has
// changed. No read waits for another.
func (b *Base) keep(began int64, clocks map[string]time.Duration) (changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if began < b.newest {
		return false
	}
	b.newest = began
	b.Store.Clocks().Respect(len(clocks) > 0)
	before := b.moved.Swap(&clocks)
	return before == nil || !maps.Equal(*before, clocks)
}

// Reread refreshes this node's memory after a use case has written. If the database cannot be read
// now, the write still stands: the loop of that name reads it soon, and the caller gets the result
// of the write.
func (b *Base) Reread(ctx context.Context, loop string, read func(context.Context) error) {
	if err := read(ctx); err != nil {
		b.Log.WarnContext(ctx, "cannot refresh the memory after a write: the loop does it later", "loop", loop, "error", err)
	}
}
