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

// Sandboxes knows which sandboxes are closed because they are being emptied.
type Sandboxes struct {
	b      *Base
	closed *Cache[bool] // by merchant
}

// MayEnter returns an error while the scope is a sandbox that is being emptied (SBX-16). A node knows it within
// CacheTTL.
//
// Errors: service_unavailable.
func (s *Sandboxes) MayEnter(ctx context.Context, scope merchants.Scope) error {
	if scope.Live {
		return nil
	}
	closed, err := s.closed.Get(ctx, scope.Merchant, func(ctx context.Context) (bool, error) {
		r, err := s.b.Store.Resets().Get(ctx, scope.Merchant)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return r.Running(), err
	})
	if err == nil && closed {
		err = ErrEmptying
	}
	return err
}

// Forget drops what this node knows of a merchant's sandbox that it has changed.
func (s *Sandboxes) Forget(merchant string) { s.closed.Forget(merchant) }
