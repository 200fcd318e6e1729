package store

import (
	"fmt"
	"math/bits"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// One change that the database refuses does not affect the others in its batch, and costs only a few
// transactions.
func TestOneBadChangeOfABatchCostsAFewTransactions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := Open(t.Context(), database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		refuse := "ALTER TABLE once ADD CONSTRAINT no_bad CHECK (id <> 'bad')"
		if s.b.DB.Dialect() == engine.SQLite {
			refuse = "CREATE TRIGGER no_bad BEFORE INSERT ON once WHEN NEW.id = 'bad' BEGIN SELECT RAISE(ABORT, 'bad'); END"
		}
		if err := s.b.DB.Migrate(t.Context(), func(m engine.Migrator) error { return m.Exec(refuse) }); err != nil {
			t.Fatal(err)
		}
		const n = 500
		var batch []*waiting
		for i := range n {
			key := fmt.Sprint("key ", i)
			if i == 123 {
				key = "bad"
			}
			change := pay.Change{Once: &pay.Once{Key: key, Hash: "h", Object: key, At: time.Unix(1, 0)}}
			batch = append(batch, newWaiting(&change))
		}
		newCommitter(s.core).flush(batch)
		for i, w := range batch {
			if err := <-w.done; (err == nil) != (i != 123) {
				t.Errorf("change %d: %v", i, err)
			}
		}
		if most := int64(2 * bits.Len(n)); s.Stats().Commits+s.Stats().Halved > most {
			t.Errorf("one bad change of %d took %d commits and %d that failed, want %d at most", n, s.Stats().Commits, s.Stats().Halved, most)
		}
	})
}
