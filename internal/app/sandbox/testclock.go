package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store"
)

// Clock reads a merchant's test clock, and its time.
func (sb *Sandbox) Clock(ctx context.Context, scope tenant.Scope) (tenant.Clock, time.Time, error) {
	if err := sandboxOnly(scope); err != nil {
		return tenant.Clock{}, time.Time{}, err
	}
	c, err := sb.clock(ctx, scope.Merchant)
	return c, sb.Now().Add(c.Advance), err
}

func (sb *Sandbox) clock(ctx context.Context, merchant string) (tenant.Clock, error) {
	c, err := sb.Store.Clocks().Get(ctx, merchant)
	if errors.Is(err, store.ErrNotFound) {
		return tenant.Clock{Merchant: merchant}, nil
	}
	return c, err
}

// MoveClock moves a merchant's test clock forward. The loops do the work that becomes due within
// moments.
//
// Errors: production_key_refused, invalid_request.
func (sb *Sandbox) MoveClock(ctx context.Context, who base.Principal, by time.Duration) (tenant.Clock, time.Time, error) {
	scope := who.Scope
	if err := sandboxOnly(scope); err != nil {
		return tenant.Clock{}, time.Time{}, err
	}
	moved, err := base.Decide(func() (tenant.Clock, error) {
		c, err := sb.clock(ctx, scope.Merchant)
		if err != nil {
			return c, err
		}
		next, err := c.Move(by)
		if err != nil {
			return c, err
		}
		return next, sb.Store.Commit(ctx, pay.Change{
			Clocks: []tenant.Clock{next},
			Audit:  sb.Audited(who.Actor(), scope, audit.ClockMoved, scope.Merchant, map[string]string{"by": by.String(), "ahead": next.Advance.String()}),
		})
	})
	if err != nil {
		return tenant.Clock{}, time.Time{}, err
	}
	sb.Reread(ctx, "clocks", sb.ReadClocks)
	return moved, sb.Now().Add(moved.Advance), nil
}

func sandboxOnly(scope tenant.Scope) error {
	if scope.Live {
		return problem.New(problem.ProductionKeyRefused, onlyInSandbox)
	}
	return nil
}
