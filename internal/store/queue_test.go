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
)

// While the database stands still the queue fills up, and whoever comes after
// that is told so at once. Nobody who was not told is forgotten.
func TestFullQueueRefusesChanges(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer s.Close()
		tx, err := newVandal(t, database).db.Begin()
		must(t, err)
		lock := "LOCK TABLE once"
		if strings.HasPrefix(database, "sqlite:") {
			lock = "DELETE FROM once WHERE id = ''" // locks all there is
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
				if errors.Is(results[i], store.ErrBusy) && refused.Add(1) == 1 {
					close(full)
				}
			})
		}
		<-full
		must(t, tx.Rollback())
		all.Wait()
		for i, result := range results {
			_, err := s.Once(ctx, fmt.Sprint("key ", i))
			if written := err == nil; result != nil && !errors.Is(result, store.ErrBusy) || written != (result == nil) {
				t.Fatalf("change %d: %v; it is written: %t", i, result, written)
			}
		}
	})
}

// A change waits neither for another one that waits for a lock, nor a lease for readers
// that do.
func TestNobodyWaitsForAnothersLock(t *testing.T) {
	database := dbtest.Postgres(t) // SQLite has one writer, and readers that wait for nobody
	s, err := store.Open(ctx, database, store.Options{})
	must(t, err)
	defer s.Close()
	tx, v := locked(t, newVandal(t, database), database), newVandal(t, database)
	_, err = tx.ExecContext(ctx, "LOCK TABLE payments")
	must(t, err)
	waiting := func(n int) {
		t.Helper()
		for found := 0; found < n; {
			must(t, v.db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&found))
		}
	}
	first := make(chan error, 1)
	go func() { first <- s.Commit(ctx, once("key")) }()
	waiting(1)
	var readers sync.WaitGroup
	defer readers.Wait()
	defer func() { _ = tx.Rollback() }() // where the test fails
	for range 20 {
		readers.Go(func() { _, _ = s.AnyPayment(ctx, "TXN-1") })
	}
	waiting(1 + 8)
	if _, err := s.LeaseWithdrawals(ctx, noon, noon, 1); err != nil {
		t.Errorf("a lease waits for readers: %v", err)
	}
	must(t, s.Commit(ctx, pay.Change{Receipts: []pay.Receipt{{ID: "bank/1", Account: "bank", Payment: "TXN-1", Verdict: pay.Ignored, At: noon}}}))
	select {
	case err := <-first:
		t.Errorf("the first change did not wait for its lock: %v", err)
	default:
	}
	must(t, tx.Rollback())
	must(t, <-first)
}
