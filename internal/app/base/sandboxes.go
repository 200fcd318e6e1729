package base

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// ErrEmptying is the error for a request to a sandbox that is being emptied.
var ErrEmptying error = &problem.Error{Code: problem.ServiceUnavailable, Details: problem.Details{Reason: pay.Emptying},
	Reason: emptying}

// Sandboxes knows which merchants may do what: whose sandbox is being emptied or switched off, and who leaves. A node knows a change
// within CacheTTL.
type Sandboxes struct {
	b     *Base
	known *Cache[doors] // by merchant
}

// doors are what a merchant may not use now.
type doors struct{ emptying, off, leaving bool }

func (s *Sandboxes) of(ctx context.Context, merchant string) (doors, error) {
	return s.known.Get(ctx, merchant, func(ctx context.Context) (doors, error) {
		m, err := s.b.Store.Merchants().Get(ctx, merchant)
		if err != nil {
			return doors{}, err
		}
		d := doors{off: m.SandboxOff, leaving: m.Leaving.Closed()}
		r, err := s.b.Store.Resets().Get(ctx, merchant)
		if errors.Is(err, store.ErrNotFound) {
			return d, nil
		}
		d.emptying = r.Running()
		return d, err
	})
}

// MayEnter returns an error while the scope is a sandbox that is being emptied (SBX-16) or is switched off (SBX-19).
//
// Errors: service_unavailable, forbidden.
func (s *Sandboxes) MayEnter(ctx context.Context, scope merchants.Scope) error {
	if scope.Live {
		return nil
	}
	d, err := s.of(ctx, scope.Merchant)
	if err != nil {
		return err
	}
	if err := (merchants.Merchant{SandboxOff: d.off}).MayEnter(false, s.b.NoSandbox); err != nil {
		return err
	}
	if d.emptying {
		return ErrEmptying
	}
	return nil
}

// MayWrite returns an error if a program may not change anything of a merchant, because it leaves (LEAVE-2). People may: they answer
// disputes, pay back and withdraw.
//
// Errors: forbidden.
func (s *Sandboxes) MayWrite(ctx context.Context, merchant string) error {
	d, err := s.of(ctx, merchant)
	if err != nil || !d.leaving {
		return err
	}
	return merchants.Merchant{Leaving: merchants.Leaving{ClosedAt: s.b.Now()}}.MayAdd()
}

// Forget drops what this node knows of a merchant that it has changed.
func (s *Sandboxes) Forget(merchant string) { s.known.Forget(merchant) }
