package app

import (
	"context"
	"time"
)

const (
	// keyRetention is the shortest time that an Idempotency-Key is kept (IDEM-8).
	keyRetention = 7 * 24 * time.Hour
	// keyPage is how many keys are read in one transaction.
	keyPage = 5000
)

// PurgeKeys deletes the keys of requests after their retention: a request with such a key is a new
// request.
func (a *App) PurgeKeys(ctx context.Context) error {
	before := a.Now().Add(-keyRetention)
	for last := ""; ; {
		var err error
		if last, err = a.Store.Idempotency.Purge(ctx, last, before, keyPage); err != nil || last == "" {
			return err
		}
	}
}
