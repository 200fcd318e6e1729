package base

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store"
)

// Idempotency is the key that a request carries; Key is empty without one.
type Idempotency struct {
	Route string
	Key   string
	Hash  string // SHA-256 of the canonical body; "" for what is done once for good
	// Headers are those that tell a request with the same body from the one of another hash; nil
	// where no header counts.
	Headers func(hash string) []string
}

// KeyIn returns the once-key of the request in its scope (IDEM-2).
func (i Idempotency) KeyIn(scope tenant.Scope) string {
	return strings.Join([]string{string(scope.Environment()), scope.Shop, i.Route, i.Key}, "|")
}

// Guard is the guard of a change that makes object; nil without a key.
func (i Idempotency) Guard(scope tenant.Scope, object string, now time.Time) *pay.Once {
	if i.Key == "" {
		return nil
	}
	return &pay.Once{Key: i.KeyIn(scope), Hash: i.Hash, Object: object, At: now}
}

// Earlier returns the id of what an earlier request with the same key and body
// made. The conflict where the body was another one.
func (b *Base) Earlier(ctx context.Context, scope tenant.Scope, i Idempotency) (object string, found bool, err error) {
	if i.Key == "" {
		return "", false, nil
	}
	once, err := b.Store.Idempotency.Get(ctx, i.KeyIn(scope))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "", false, nil
	case err != nil:
		return "", false, err
	case i.Hash != "" && once.Hash != i.Hash:
		return "", false, i.Reused(once.Hash)
	}
	return once.Object, true, nil
}

// Reused says in what a request differs from an earlier one with the same key.
func (i Idempotency) Reused(hash string) error {
	if i.Headers != nil {
		if differ := i.Headers(hash); len(differ) > 0 {
			return &problem.Error{
				Code: problem.IdempotencyConflict, Param: differ[0], Details: problem.Details{Reason: "header_differs"},
				Message: "this Idempotency-Key was used with the same body and another " + strings.Join(differ, " and ") +
					": send the header as it was, or use a new key for a new request",
			}
		}
	}
	return &problem.Error{
		Code: problem.IdempotencyConflict, Message: "this Idempotency-Key was used with a different body: use a new key for a new request",
		Details: problem.Details{Reason: "body_differs"},
	}
}
