package store_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// A busy service vacuums the tables that rows only pass through. One that writes little leaves them to autovacuum: a vacuum
// makes PostgreSQL plan every statement on them anew.
func TestBusyServiceVacuumsPassingRows(t *testing.T) {
	database := dbtest.Postgres(t)
	s, err := store.Open(ctx, database, store.Options{})
	must(t, err)
	defer s.Close()
	db := newVandal(t, database).db
	now := noon
	tidied := func(when string, want int) {
		t.Helper()
		must(t, s.Tidy(ctx, now))
		for _, table := range []string{"processing", "unsealed", "facts"} {
			var n int
			must(t, db.QueryRow("SELECT vacuum_count FROM pg_stat_user_tables WHERE relname = $1", table).Scan(&n))
			if n != want {
				t.Errorf("%s %s was vacuumed %d times, want %d", when, table, n, want)
			}
		}
	}
	for _, table := range []string{"processing", "unsealed", "facts"} { // the service's vacuum skips a table that is being vacuumed
		_, err := db.Exec("ALTER TABLE " + table + " SET (autovacuum_enabled = off)")
		must(t, err)
	}
	tidied("of a new service", 0)
	write := func(round, changes int) {
		var writing sync.WaitGroup
		for i := range changes {
			writing.Go(func() {
				tr := transfer(fmt.Sprintf("tr_%d_%d", round, i), ledger.Posting{Account: ledger.Available, Amount: 5}, ledger.Posting{Account: ledger.Receivable, Amount: -5})
				if err := s.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{tr}}); err != nil {
					t.Error(err)
				}
			})
		}
		writing.Wait()
	}
	write(1, 20)
	tidied("after 20 changes", 0)
	write(2, 200)
	tidied("after 220 changes", 1)
	now = now.Add(time.Minute)
	tidied("with nothing since", 1)
	write(3, 1)
	tidied("with one change, a minute after the last run", 2)
	now = now.Add(59 * time.Second)
	write(4, 1)
	tidied("with one change, too soon", 2)
}
