package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/store"
)

// Nodes that seal the same rows at once, while more rows are written, put each row into
// exactly one block of one chain.
func TestRaceOfSealersSealsEachRowOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		var nodes []*store.Store
		for range 3 {
			nodes = append(nodes, openSealed(t, database, store.Options{}))
		}
		var work sync.WaitGroup
		for i, s := range nodes {
			work.Go(func() {
				for n := range 40 {
					written(t, s, fmt.Sprintf("%d-%d", i, n))
				}
			})
			work.Go(func() {
				for range 40 {
					_, err := s.Seal(ctx, noon)
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		work.Wait()
		sealAll(t, nodes[0])
		clean(t, nodes[0])
		due, err := nodes[0].OldestDue(ctx)
		must(t, err)
		if !due["seals"].IsZero() {
			t.Errorf("rows wait since %s", due["seals"])
		}
	})
}

// Every node seals, so two often want the same rows: that causes no error in PostgreSQL's
// log.
func TestRaceOfSealersLeavesNoErrorInPostgreSQLsLog(t *testing.T) {
	server := dbtest.Alone(t)
	nodes := []*store.Store{openSealed(t, dbtest.Address(server), store.Options{}), openSealed(t, dbtest.Address(server), store.Options{})}
	for n := range 40 {
		written(t, nodes[0], fmt.Sprint(n))
		var work sync.WaitGroup
		for _, s := range nodes {
			work.Go(func() {
				if _, err := s.Seal(ctx, noon); err != nil {
					t.Error(err)
				}
			})
		}
		work.Wait()
	}
	sealAll(t, nodes[0])
	clean(t, nodes[0])
	for _, line := range server.Errors() {
		t.Errorf("PostgreSQL's log has %s", line)
	}
}

// A server that is told to stop while it seals still writes its queued
// changes.
func TestInterruptedSealHarmsNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := openSealed(t, database, store.Options{})
		for i := range 60 {
			written(t, s, fmt.Sprint(i))
			interrupted, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Duration(i)*20*time.Microsecond, cancel)
			if _, err := s.Seal(interrupted, noon); err != nil && interrupted.Err() == nil {
				t.Error(err)
			}
			cancel()
		}
		sealAll(t, s)
		clean(t, s)
	})
}

// A commit with a late arrival, an old time, or the time of a test clock far
// ahead is sealed with the rows that arrive with it.
func TestRowsAreSealedWhateverTheirTime(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := openSealed(t, database, store.Options{})
		for i, at := range []time.Time{noon, noon.Add(-10 * 24 * time.Hour), noon.Add(5 * 366 * 24 * time.Hour), noon.Add(-time.Second)} {
			tr := transfer(fmt.Sprintf("tr_%d", i), ledger.Posting{Account: ledger.Available, Amount: 1}, ledger.Posting{Account: ledger.Receivable, Amount: -1})
			tr.At = at
			must(t, s.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{tr}}))
			due, err := s.OldestDue(ctx)
			must(t, err)
			if since := time.Since(due["seals"]); since < -time.Minute || since > time.Minute {
				t.Errorf("the gauge says that a row has waited since %s", due["seals"])
			}
			sealAll(t, s)
			clean(t, s)
			if n := heads(t, s)["mer_acme sandbox"].N; n != int64(i+1) {
				t.Errorf("%d blocks after %d rows", n, i+1)
			}
		}
	})
}

// After a long pause the sealer catches up in steps, and in blocks of bounded
// size; each merchant and environment has its own chain.
func TestCatchingUpIsBounded(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := openSealed(t, database, store.Options{})
		for commit := range 3 {
			var change pay.Change
			for i := range 900 {
				e := act(fmt.Sprintf("%d-%04d", commit, i), noon)
				e.Live = i%3 == 0
				if i%300 == 1 {
					e.Merchant = "mer_b"
				}
				change.Audit = append(change.Audit, e)
			}
			must(t, s.Commit(ctx, change))
		}
		for i := range 250 {
			must(t, s.Commit(ctx, pay.Change{Audit: []audit.Entry{act(fmt.Sprintf("single-%d", i), noon)}}))
		}
		more, err := s.Seal(ctx, noon)
		must(t, err)
		if !more {
			t.Error("the first step sealed everything")
		}
		sealAll(t, s)
		clean(t, s)
		got := heads(t, s)
		// The sandbox has 1791 and 250 rows: the first step takes 1000 and the rest, the second step what is left.
		for chain, want := range map[string]int64{"mer_acme sandbox": 3, "mer_acme production": 1, "mer_b sandbox": 1} {
			if got[chain].N != want {
				t.Errorf("%s has %d blocks, want %d; all: %v", chain, got[chain].N, want, slices.Collect(maps.Values(got)))
			}
		}
	})
}

// The database refuses to change tables that only grow.
func TestLedgerAuditAndBlocksAreAppendOnly(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := openSealed(t, database, store.Options{})
		written(t, s, "a")
		produced := transfer("tr_live", ledger.Posting{Account: ledger.Available, Amount: 7}, ledger.Posting{Account: ledger.Receivable, Amount: -7})
		produced.Live = true // a sandbox's may be deleted (SBX-16)
		must(t, s.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{produced}}))
		sealAll(t, s)
		driver, address := "pgx", database
		statements := []string{"UPDATE %s SET at = at + 1", "DELETE FROM %s", "TRUNCATE %s"}
		if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
			driver, address, statements = "sqlite", "file:"+path, statements[:2]
		}
		db, err := sql.Open(driver, address)
		must(t, err)
		defer db.Close()
		for _, table := range []string{"transfers", "audit", "blocks"} {
			for _, statement := range statements {
				if _, err := db.Exec(fmt.Sprintf(statement, table)); err == nil || !strings.Contains(err.Error(), table+" is append-only") {
					t.Errorf(statement+": %v, want it refused", table, err)
				}
			}
		}
		clean(t, s)
	})
}
