package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/engine"
)

func once(key string) pay.Change {
	return pay.Change{Once: &pay.Once{Key: key, Hash: "h", Object: key, At: noon}}
}

// A commit succeeds, and its reply is lost. The caller hears that it succeeded, and
// not that its guard failed because of its own write.
func TestCommitWithALostReplyIsDone(t *testing.T) {
	line := dbtest.Behind(t, dbtest.Postgres(t))
	s, err := store.Open(ctx, line.Address, store.Options{})
	must(t, err)
	defer s.Close()
	p, change := create(t, "1")
	must(t, s.Commit(ctx, change))
	line.Lose(3)
	for i := range 30 {
		next, change := p.Reply(noon)
		if err := s.Commit(ctx, change); err != nil {
			t.Fatalf("change %d: %v", i, err)
		}
		p = next
		p.Work.Answered, p.Stored = "", p.Status
	}
	read, err := s.Payments().Any(ctx, p.ID)
	must(t, err)
	if read.Version != p.Version || line.Lost() == 0 || s.Stats().Unknown == 0 {
		t.Errorf("after 30 changes the version is %d, want %d; %d answers lost, %d found out", read.Version, p.Version, line.Lost(), s.Stats().Unknown)
	}
}

// The same with many at once: each once-key is taken once, by the caller that hears so.
func TestEveryCallerLearnsItsResultAfterALostReply(t *testing.T) {
	line := dbtest.Behind(t, dbtest.Postgres(t))
	s, err := store.Open(ctx, line.Address, store.Options{})
	must(t, err)
	defer s.Close()
	line.Lose(2)
	const clients, each = 16, 40
	var all sync.WaitGroup
	won := make([][]string, clients)
	for c := range clients {
		all.Go(func() {
			for i := range each {
				key := fmt.Sprint("key ", i) // all callers want it
				switch err := s.Commit(ctx, once(key)); {
				case err == nil:
					won[c] = append(won[c], key)
				case !errors.Is(err, store.ErrDuplicate):
					t.Errorf("%s for %d: %v", key, c, err)
				}
			}
		})
	}
	all.Wait()
	winners := map[string]int{}
	for _, keys := range won {
		for _, key := range keys {
			winners[key]++
		}
	}
	for i := range each {
		if n := winners[fmt.Sprint("key ", i)]; n != 1 {
			t.Errorf("key %d was taken by %d", i, n)
		}
	}
	if line.Lost() == 0 {
		t.Error("no answer was lost")
	}
}

// locked keeps once-keys from being written until the transaction ends.
func locked(t *testing.T, v vandal, database string) *sql.Tx {
	t.Helper()
	tx, err := v.db.Begin()
	must(t, err)
	lock := "LOCK TABLE once"
	if strings.HasPrefix(database, "sqlite:") {
		lock = "DELETE FROM once WHERE id = ''" // locks the whole table
	}
	_, err = tx.ExecContext(ctx, lock)
	must(t, err)
	return tx
}

// The database hangs. Every caller gets an error within the time of one change, not one
// after the other, and a change that failed then is not written later.
func TestStandstillIsAnOutageForAll(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer s.Close()
		tx := locked(t, newVandal(t, database), database)
		const n = 20
		results := make([]error, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() { results[i] = s.Commit(ctx, once(fmt.Sprint("key ", i))) })
		}
		all.Wait() // while it hangs
		must(t, tx.Rollback())
		for s.Commit(ctx, once("after")) != nil { // the store notices by itself that the database works again
		}
		for i, result := range results {
			_, err := s.Idempotency().Get(ctx, fmt.Sprint("key ", i))
			written := err == nil
			if result == nil || written && !errors.Is(result, store.ErrUnknown) {
				t.Errorf("change %d returned %v; it is written: %t", i, result, written)
			}
			if !errors.Is(result, store.ErrUnknown) && !errors.Is(result, engine.ErrDown) && !errors.Is(result, engine.ErrBusy) {
				t.Errorf("change %d was told %v", i, result)
			}
		}
	})
}
