package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// While the database hangs, the queue fills up, and further changes are refused
// at once. Every change that was not refused is decided.
func TestFullQueueRefusesChanges(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer s.Close()
		tx, err := newVandal(t, database).db.Begin()
		must(t, err)
		lock := "LOCK TABLE once"
		if strings.HasPrefix(database, "sqlite:") {
			lock = "DELETE FROM once WHERE id = ''" // locks the whole table
		}
		_, err = tx.ExecContext(ctx, lock)
		must(t, err)

		const n = 6000
		results := make([]error, n)
		full := make(chan struct{})
		var refused atomic.Int64
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				key := fmt.Sprint("key ", i)
				results[i] = s.Commit(ctx, pay.Change{Once: &pay.Once{Key: key, Hash: "h", Object: key, At: noon}})
				if errors.Is(results[i], engine.ErrBusy) && refused.Add(1) == 1 {
					close(full)
				}
			})
		}
		<-full
		must(t, tx.Rollback())
		all.Wait()
		for i, result := range results {
			_, err := s.Idempotency().Get(ctx, fmt.Sprint("key ", i))
			if written := err == nil; result != nil && !errors.Is(result, engine.ErrBusy) || written != (result == nil) {
				t.Fatalf("change %d: %v; it is written: %t", i, result, written)
			}
		}
	})
}
