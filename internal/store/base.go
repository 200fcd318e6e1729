package store

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// base is what every noun reads by: a database, the statements in its words, and what opens texts
// that are encrypted.
type base struct {
	db        engine.DB
	log       *slog.Logger
	texts     map[string]string // a query's text for the engine; of the process, never written
	personal  table.Personal
	clocked   atomic.Bool  // some test clock was moved
	inCompany atomic.Bool  // several merchants write
	rolledUp  atomic.Int64 // the days before it are in the counters of all days
}

// PrepareAll checks every statement of the package against the database.
func (b *base) PrepareAll(ctx context.Context) error {
	for text, translated := range b.texts {
		if err := b.db.Prepare(ctx, translated); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		if counted, ok := engine.CountedTexts()[translated]; ok && b.db.Dialect() == engine.PostgreSQL {
			if err := b.db.Prepare(ctx, counted); err != nil {
				return fmt.Errorf("%s, counted: %w", text, err)
			}
		}
	}
	return nil
}

// longRead is how long what an operator asks for may take who reads whole tables: a
// statement has eight seconds where nobody says otherwise.
const longRead = 24 * time.Hour

// long is for reads of whole tables.
func long(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, longRead)
}

// query runs a reading statement of the package.
func (b *base) query(ctx context.Context, text string, args []any, each func(engine.Row) error) error {
	return b.db.Query(ctx, b.text(text), args, each)
}

// text is the statement for the engine. One that is not made by statement
// would escape the test that prepares them all.
func (b *base) text(query string) string {
	text, ok := b.texts[query]
	if !ok {
		panic("store: a text that is no statement: " + query)
	}
	return text
}

// one reads a single row or fails with ErrNotFound.
func one[T any](ctx context.Context, b *base, text string, scan func(engine.Row) (T, error), args ...any) (T, error) {
	var got T
	found := false
	err := b.query(ctx, text, args, func(r engine.Row) (err error) {
		found = true
		got, err = scan(r)
		return err
	})
	if err == nil && !found {
		err = ErrNotFound
	}
	return got, err
}

// many reads all rows.
func many[T any](ctx context.Context, b *base, text string, scan func(engine.Row) (T, error), args ...any) ([]T, error) {
	var list []T
	err := b.query(ctx, text, args, func(r engine.Row) error {
		got, err := scan(r)
		list = append(list, got)
		return err
	})
	return list, err
}

// atMost reads all rows, which are limit at most, each into its place in the list.
func atMost[T any](ctx context.Context, b *base, limit int, text string, read func(engine.Row, *T) error, args ...any) ([]T, error) {
	var list []T
	err := b.query(ctx, text, args, func(r engine.Row) error {
		if list == nil {
			list = make([]T, 0, min(limit, 128))
		}
		list = append(list, *new(T))
		return read(r, &list[len(list)-1])
	})
	return list, err
}

func scanInt(r engine.Row) (n int64, err error) {
	err = r.Scan(&n)
	return n, err
}

func scanID(r engine.Row) (id string, err error) { return id, r.Scan(&id) }

var idColumns = engine.ParseColumns("id TEXT")

func (b *base) ids(list []string) []any {
	r := engine.NewRows(b.db.Dialect(), idColumns, len(list))
	for _, id := range list {
		r.Text(id).Next()
	}
	return r.Args()
}

// applySlowly is apply for what several nodes do by themselves, where nobody waits for a second
// trip: it looks at what the steps got before it commits, so that the later of two leaves no error
// in PostgreSQL's log.
//
// Errors: those of apply.
func applySlowly(ctx context.Context, db engine.DB, steps []engine.Step) error {
	steps, got := slices.Clone(steps), make([]int, len(steps))
	for i := range steps {
		if steps[i].Want > 0 {
			steps[i].Each = func(engine.Row) error { got[i]++; return nil }
		}
	}
	return db.Transact(ctx, steps, func() ([]engine.Step, error) {
		for i, s := range steps {
			if got[i] != s.Want {
				return nil, engine.ErrLost
			}
		}
		return nil, nil
	})
}
