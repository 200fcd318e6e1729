package store_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// lockedOut waits until that many sessions wait for a lock.
func lockedOut(t *testing.T, v vandal, n int) {
	t.Helper()
	for found := 0; found < n; {
		must(t, v.db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&found))
	}
}

// SQLite has one writer, and its readers never wait, so these tests are for PostgreSQL.

// A change does not wait for another change that waits for a lock, and a lease does not wait for readers
// that do.
func TestNobodyWaitsForAnothersLock(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	s, err := store.Open(ctx, database, store.Options{})
	must(t, err)
	defer s.Close()
	tx, v := locked(t, newVandal(t, database), database), newVandal(t, database)
	_, err = tx.ExecContext(ctx, "LOCK TABLE payments")
	must(t, err)
	first := make(chan error, 1)
	go func() { first <- s.Commit(ctx, once("key")) }()
	lockedOut(t, v, 1)
	defer func() { _ = tx.Rollback() }() // if the test fails
	for range 20 {
		go func() { _, _ = s.Payments().Any(ctx, "TXN-1") }()
	}
	lockedOut(t, v, 1+8)
	if _, err := s.Withdrawals().Lease(ctx, noon, noon, 1); err != nil {
		t.Errorf("a lease waits for readers: %v", err)
	}
	must(t, s.Commit(ctx, receipt("bank/1")))
	select {
	case err := <-first:
		t.Errorf("the first change did not wait for its lock: %v", err)
	default:
	}
	must(t, tx.Rollback())
	must(t, <-first)
}

func receipt(id string) pay.Change {
	return pay.Change{Notices: []pay.KeptNotice{{ID: id, Account: "bank", Payment: "TXN-1", Verdict: pay.Ignored, At: noon}}}
}

// If a change comes while both committers write, the first free committer takes it: it waits for no
// lock of the other committer.
func TestFreeCommitterWaitsForNoLockOfTheOthers(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	s, err := store.Open(ctx, database, store.Options{})
	must(t, err)
	defer s.Close()
	v := newVandal(t, database)
	stuck := locked(t, newVandal(t, database), database)
	defer func() { _ = stuck.Rollback() }()
	brief, err := newVandal(t, database).db.Begin()
	must(t, err)
	_, err = brief.ExecContext(ctx, "LOCK TABLE receipts")
	must(t, err)
	a, b, c := make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() { a <- s.Commit(ctx, once("key")) }()
	lockedOut(t, v, 1)
	go func() { b <- s.Commit(ctx, receipt("bank/1")) }()
	lockedOut(t, v, 2)
	go func() { c <- s.Commit(ctx, receipt("bank/2")) }()
	must(t, brief.Rollback())
	must(t, <-b)
	must(t, <-c)
	select {
	case err := <-a:
		t.Errorf("the first change did not wait for its lock: %v", err)
	default:
	}
}

// An index is created on a table, so leases of its rows wait; the node's own lease is renewed.
func TestLeaseOfANodeWaitsForNoLock(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	s, err := store.Open(ctx, database, store.Options{})
	must(t, err)
	defer s.Close()
	must(t, s.Serve(ctx))
	before, err := s.Hold(ctx)
	must(t, err)
	tx, err := newVandal(t, database).db.Begin()
	must(t, err)
	_, err = tx.ExecContext(ctx, "LOCK TABLE payments IN SHARE MODE") // as CREATE INDEX does
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	var told atomic.Int64
	for range 4 { // more than there are connections for leases
		go func() {
			_, _ = s.Payments().Lease(ctx, noon, noon, 1)
			told.Add(1)
		}()
	}
	lockedOut(t, newVandal(t, database), 2)
	time.Sleep(4 * time.Second) // the lease is due to be renewed
	if now, err := s.Hold(ctx); err != nil || now.Node != before.Node || told.Load() > 0 {
		t.Errorf("the node %s is %q now, %v; %d leases waited for a shorter time", before.Node, now.Node, err, told.Load())
	}
}

// A deadlock with somebody else's transaction is not the change's fault, whichever statement meets it: the
// change runs again.
func TestDeadlockIsNotTheChangesFault(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	s, err := store.Open(ctx, database, store.Options{})
	must(t, err)
	defer s.Close()
	payments, held := heldDay(t, s, "P0")
	have, err := s.Books().Balances(ctx, acme)
	must(t, err)
	_, _, change, err := payments[0].Refund(pay.NewRefund{ID: "CLM-0"}, have, held.ReleaseAt.Add(-time.Hour))
	must(t, err)

	watch := newVandal(t, database)
	tx, err := newVandal(t, database).db.Begin()
	must(t, err)
	defer func() { _ = tx.Rollback() }()                                                                 // if the test fails
	_, err = tx.ExecContext(ctx, "SET LOCAL deadlock_timeout = '1min'; LOCK TABLE events IN SHARE MODE") // so that the refund loses
	must(t, err)
	done := make(chan error, 1)
	go func() { done <- s.Commit(ctx, payload(change)) }()
	for waits := 0; waits == 0; { // it has the payment's row, and waits for the events
		select {
		case err := <-done:
			t.Fatalf("the refund did not wait: %v", err)
		default:
		}
		must(t, watch.db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waits))
	}
	_, err = tx.ExecContext(ctx, "UPDATE payments SET version = version WHERE id = $1", payments[0].ID)
	must(t, err)
	must(t, tx.Rollback())
	if err := <-done; err != nil {
		t.Errorf("a refund that met a deadlock: %v", err)
	}
}
