package store

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
)

func keyed(key string) pay.Change {
	return pay.Change{Once: &pay.Once{Key: key, Hash: "h", Object: key, At: time.Unix(1, 0)}}
}

// A statement that writes in a transaction that will be rolled back would write a part of it.
func TestEveryStatementOfABatchAsksWhetherItIsLost(t *testing.T) {
	writes := regexp.MustCompile(`^\s*(INSERT|UPDATE|DELETE)\b`)
	asking := 0
	for _, query := range engine.Statements {
		switch {
		case !writes.MatchString(query):
		case strings.Contains(query, "{unless lost}"): // TestBatchesFindRowsByIndex explains that it does
			asking++
		case !engine.Standalones[query]:
			t.Errorf("does it run in a batch? It does not ask: %s", query)
		}
	}
	if asking < 70 {
		t.Errorf("only %d statements ask", asking)
	}
}

// If a batch has changes that must be refused, no part of it is written, and PostgreSQL logs nothing; the rest
// of the batch is written in the next one.
func TestABatchWithReplaysIsWrittenWithoutThem(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := Open(t.Context(), database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		merchant := merchants.Merchant{ID: "mer_1", Version: 1, Name: "one", CreatedAt: time.Unix(1, 0)}
		flush := func(changes ...pay.Change) (results []error) {
			var batch []*waiting
			for _, change := range changes {
				batch = append(batch, newWaiting(&change))
			}
			newCommitter(s.core).flush(batch)
			for _, w := range batch {
				results = append(results, <-w.done)
			}
			return results
		}
		moved := func(version int64, name string) pay.Change {
			m := merchant
			m.Version, m.Name = version, name
			return pay.Change{Merchants: []merchants.Merchant{m}}
		}
		receipt := pay.Change{Notices: []pay.KeptNotice{{ID: "a notice", Account: "a", Payment: "TXN-1", At: time.Unix(1, 0)}}}
		for _, err := range flush(moved(1, "one"), keyed("a"), receipt) {
			if err != nil {
				t.Fatal(err)
			}
		}
		commits := s.Stats().Commits
		got := flush(keyed("b"), keyed("a"), receipt, moved(3, "three"), keyed("c"))
		for i, want := range []error{nil, ErrDuplicate, ErrDuplicate, ErrStale, nil} {
			if !errors.Is(got[i], want) {
				t.Errorf("change %d: %v, want %v", i, got[i], want)
			}
		}
		if n := s.Stats().Commits - commits; n != 1 {
			t.Errorf("the rest took %d transactions, want 1", n)
		}
		for _, key := range []string{"b", "c"} {
			if _, err := s.Idempotency().Get(t.Context(), key); err != nil {
				t.Errorf("key %s: %v", key, err)
			}
		}
		if m, err := s.Merchants().Get(t.Context(), merchant.ID); err != nil || m.Name != "one" {
			t.Errorf("the merchant is %q: %v", m.Name, err)
		}
		for _, err := range flush(keyed("a"), receipt) {
			if !errors.Is(err, ErrDuplicate) {
				t.Errorf("alone: %v, want %v", err, ErrDuplicate)
			}
		}
	})
}

// Two changes at the same moment do not see each other's rows in advance. The later one waits, fails
// with an error that the operator understands, and runs again.
func TestUnforeseenConflictIsExplained(t *testing.T) {
	server := dbtest.Alone(t)
	s, err := Open(t.Context(), dbtest.Address(server), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := pgx.Connect(t.Context(), dbtest.Address(server))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "INSERT INTO once (id, hash, object, at, row_hash) VALUES ('k', 'h', 'k', 1, '')"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Commit(context.Background(), keyed("k")) }()
	for waits := false; !waits; {
		if err := conn.QueryRow(t.Context(), "SELECT count(*) > 0 FROM pg_locks WHERE NOT granted").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, ErrDuplicate) {
		t.Errorf("the later one: %v, want %v", err, ErrDuplicate)
	}
	if lines := server.Errors(); len(lines) != 1 || !strings.Contains(lines[0], engine.GuardLost) {
		t.Errorf("PostgreSQL's log has %q, want one line that says %q", lines, engine.GuardLost)
	}
	if n := s.Stats().Again; n != 1 {
		t.Errorf("%d transactions ran again, want 1", n)
	}
}

// If a statement forgets to ask, the conflict is not foreseen: the transaction fails at its first guard,
// and nothing of it stays.
func TestAStatementThatForgetsToAskWritesNothing(t *testing.T) {
	s, err := Open(t.Context(), dbtest.Postgres(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Commit(t.Context(), keyed("k")); err != nil {
		t.Fatal(err)
	}
	look := []engine.Step{{Text: s.b.Text(payments.OnceTable.Existing), Args: s.b.IDs([]string{"k"}), Each: func(r engine.Row) error { return r.Scan(new(string)) }}}
	forgets := engine.Step{Text: "UPDATE once SET object = 'spoilt' WHERE id = $1", Args: []any{"k"}}
	asks := engine.Step{Text: s.b.Text(payments.OnceTable.Insert), Args: payments.OnceTable.Rows(s.b.DB.Dialect(), s.b.Personal, []*pay.Once{keyed("k").Once, keyed("other").Once}).Args(), Want: 2}
	if err := s.b.DB.Apply(t.Context(), look, []engine.Step{forgets, asks}); !errors.Is(err, engine.ErrLost) {
		t.Errorf("apply: %v, want %v", err, engine.ErrLost)
	}
	if once, err := s.Idempotency().Get(t.Context(), "k"); err != nil || once.Object != "k" {
		t.Errorf("the key is of %q: %v", once.Object, err)
	}
	if err := s.b.DB.Apply(t.Context(), look, []engine.Step{asks}); !errors.Is(err, engine.ErrForeseen) {
		t.Errorf("apply: %v, want %v", err, engine.ErrForeseen)
	}
	if _, err := s.Idempotency().Get(t.Context(), "other"); !errors.Is(err, ErrNotFound) {
		t.Errorf("it was written: %v", err)
	}
	// The setting ends with the transaction.
	for i := range 3 * engine.Writers {
		if err := s.Commit(t.Context(), keyed(fmt.Sprint("next ", i))); err != nil {
			t.Error(err)
		}
	}
}
