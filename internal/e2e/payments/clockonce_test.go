package payments

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// If the outcome of the commit that moves the test clock is unknown, the service does not move it
// again.
func TestClockMovesOnceWhereTheOutcomeIsUnknown(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		lost := 0
		a := harness.NodeOf(t, database, &harness.Clock{}, &harness.Faults{}, func(c *app.Config) {
			c.Commits = func(_ context.Context, change *pay.Change, commit func() error) error {
				if err := commit(); err != nil || len(change.Clocks) == 0 {
					return err
				}
				lost++
				return store.ErrUnknown
			}
		})
		scope := harness.Acme(t, a).Scope
		for moves := 1; moves <= 2; moves++ { // the first move makes the row, the second changes it
			if _, _, err := a.Sandbox.MoveClock(ctx, base.Principal{Scope: scope}, time.Hour); !errors.Is(err, store.ErrUnknown) {
				t.Errorf("move %d returns %v, want store.ErrUnknown", moves, err)
			}
			if got, _, err := a.Sandbox.Clock(ctx, scope); err != nil || got.Advance != time.Duration(moves)*time.Hour || lost != moves {
				t.Errorf("after %d moves of an hour the clock is %s ahead, written %d times: %v", moves, got.Advance, lost, err)
			}
		}
	})
}

// If the first moves of a clock come at once, all count.
func TestFirstMovesOfAClockAllCount(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		a := harness.NodeOf(t, database, &harness.Clock{}, &harness.Faults{}, func(*app.Config) {})
		scope := harness.Acme(t, a).Scope
		var moves sync.WaitGroup
		for range 4 {
			moves.Go(func() {
				_, _, err := a.Sandbox.MoveClock(ctx, base.Principal{Scope: scope}, time.Hour)
				if err != nil {
					t.Error(err)
				}
			})
		}
		moves.Wait()
		if got, _, err := a.Sandbox.Clock(ctx, scope); err != nil || got.Advance != 4*time.Hour {
			t.Errorf("after 4 moves of an hour the clock is %s ahead: %v", got.Advance, err)
		}
	})
}
