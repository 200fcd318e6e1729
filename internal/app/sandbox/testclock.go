package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Clock reads a merchant's test clock, and its time.
func (sb *Sandbox) Clock(ctx context.Context, scope merchants.Scope) (merchants.Clock, time.Time, error) {
	if err := sandboxOnly(scope); err != nil {
		return merchants.Clock{}, time.Time{}, err
	}
	c, err := sb.clock(ctx, scope.Merchant)
	return c, sb.Now().Add(c.Advance), err
}

func (sb *Sandbox) clock(ctx context.Context, merchant string) (merchants.Clock, error) {
	c, err := sb.Store.Clocks().Get(ctx, merchant)
	if errors.Is(err, store.ErrNotFound) {
		return merchants.Clock{Merchant: merchant}, nil
	}
	return c, err
}

// MoveClock moves a merchant's test clock forward. The loops do the work that becomes due within
// moments.
//
// Errors: production_key_refused, invalid_request.
func (sb *Sandbox) MoveClock(ctx context.Context, who base.Principal, by time.Duration) (merchants.Clock, time.Time, error) {
	scope := who.Scope
	if err := sandboxOnly(scope); err != nil {
		return merchants.Clock{}, time.Time{}, err
	}
	moved, err := base.Decide(func() (merchants.Clock, error) {
		c, err := sb.clock(ctx, scope.Merchant)
		if err != nil {
			return c, err
		}
		next, err := c.Move(by)
		if err != nil {
			return c, err
		}
		return next, sb.Store.Commit(ctx, pay.Change{
			Clocks: []merchants.Clock{next},
			Audit:  sb.Audited(who.Actor(), scope, audit.ClockMoved, scope.Merchant, map[string]string{"by": by.String(), "ahead": next.Advance.String()}),
		})
	})
	if err != nil {
		return merchants.Clock{}, time.Time{}, err
	}
	sb.Reread(ctx, "clocks", sb.ReadClocks)
	return moved, sb.Now().Add(moved.Advance), nil
}

func sandboxOnly(scope merchants.Scope) error {
	if scope.Live {
		return problem.New(problem.ProductionKeyRefused, onlyInSandbox)
	}
	return nil
}
