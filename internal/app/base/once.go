package base

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Idempotency is the key of a request; Key is empty without one.
type Idempotency struct {
	Route string
	Key   string
	Hash  string // SHA-256 of the canonical body; "" for what can be done only once ever
	// Headers lists headers that differ between this request and a request with the given hash and
	// the same body; nil if headers do not count.
	Headers func(hash string) []string
}

// KeyIn returns the request's once-key in a scope (IDEM-2).
func (i Idempotency) KeyIn(scope merchants.Scope) string {
	return strings.Join([]string{string(scope.Environment()), scope.Shop, i.Route, i.Key}, "|")
}

// Guard protects a change that makes object from being repeated; nil without a key.
func (i Idempotency) Guard(scope merchants.Scope, object string, now time.Time) *pay.Once {
	if i.Key == "" {
		return nil
	}
	return &pay.Once{Key: i.KeyIn(scope), Hash: i.Hash, Object: object, At: now}
}

// Earlier returns the id of the object that an earlier request with the same key and body made. It
// returns idempotency_conflict if the body was different.
func (b *Base) Earlier(ctx context.Context, scope merchants.Scope, i Idempotency) (object string, found bool, err error) {
	if i.Key == "" {
		return "", false, nil
	}
	once, err := b.Store.Idempotency().Get(ctx, i.KeyIn(scope))
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

// Reused is the error for a request that differs from an earlier one with the same key. It says
// how.
func (i Idempotency) Reused(hash string) error {
	if i.Headers != nil {
		if differ := i.Headers(hash); len(differ) > 0 {
			return &problem.Error{
				Code: problem.IdempotencyConflict, Param: differ[0], Details: problem.Details{Reason: "header_differs"},
				Reason: headerDiffers.With(strings.Join(differ, " and ")),
			}
		}
	}
	return &problem.Error{
		Code: problem.IdempotencyConflict, Reason: bodyDiffers,
		Details: problem.Details{Reason: "body_differs"},
	}
}

// Unsure reports whether an error leaves open whether the work was done. A repeat with the same key does it once.
func Unsure(err error) bool {
	shown, ok := errors.AsType[*problem.Error](err)
	return ok && shown.Details.Reason == store.OutcomeUnknown
}

// keyPage is how many keys are read in one transaction.
const keyPage = 5000

// The limits of a request's key, for the edges: its characters, and the days for which it is kept at least.
const (
	MaxIdempotencyKey = pay.MaxIdempotencyKey
	OnceDays          = int(pay.OnceKept / (24 * time.Hour))
)

// PurgeKeysEvery is how often keys are purged. It reads all keys, and hours are little beside pay.OnceKept.
const PurgeKeysEvery = 6 * time.Hour

// PurgeKeys deletes the keys of requests after their retention: a request with such a key is a new
// request.
func (b *Base) PurgeKeys(ctx context.Context) error {
	before := b.Now().Add(-pay.OnceKept)
	for last := ""; ; {
		var err error
		if last, err = b.Store.Idempotency().Purge(ctx, last, before, keyPage); err != nil || last == "" {
			return err
		}
	}
}
