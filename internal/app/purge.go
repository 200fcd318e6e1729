package app

import (
	"context"
	"time"
)

const (
	// keyRetention is how long an Idempotency-Key is kept at least (IDEM-8).
	keyRetention = 7 * 24 * time.Hour
	// keyPage is how many keys are looked at in one transaction.
	keyPage = 5000
)

// PurgeKeys forgets the keys of requests that are past their retention: a
// request with one is a new request.
func (a *App) PurgeKeys(ctx context.Context) error {
	before := a.Now().Add(-keyRetention)
	for last := ""; ; {
		var err error
		if last, err = a.Store.Idempotency.Purge(ctx, last, before, keyPage); err != nil || last == "" {
			return err
		}
	}
}
