// Package base is what every noun of the store stands on: a database with its statements, reads of one row or
// many, leases of due work with their quarantine, and what readers are told by errors.
//
// It knows no noun, and no change is written by it: that is done by the queue of changes.
package base

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

// Base is what every noun reads by: a database, the statements in its words, and what opens texts
// that are encrypted.
type Base struct {
	DB        engine.DB
	Log       *slog.Logger
	Texts     map[string]string // a query's text for the engine; of the process, never written
	Personal  table.Personal
	Clocked   atomic.Bool  // some test clock was moved
	InCompany atomic.Bool  // several merchants write
	RolledUp  atomic.Int64 // the days before it are in the counters of all days
}

// PrepareAll checks every statement of the package against the database.
func (b *Base) PrepareAll(ctx context.Context) error {
	for text, translated := range b.Texts {
		if err := b.DB.Prepare(ctx, translated); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		if counted, ok := engine.CountedTexts()[translated]; ok && b.DB.Dialect() == engine.PostgreSQL {
			if err := b.DB.Prepare(ctx, counted); err != nil {
				return fmt.Errorf("%s, counted: %w", text, err)
			}
		}
	}
	return nil
}

// LongRead is how long what an operator asks for may take who reads whole tables: a
// statement has eight seconds where nobody says otherwise.
const LongRead = 24 * time.Hour

// Long is for reads of whole tables.
func Long(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, LongRead)
}

// Query runs a reading statement of the package.
func (b *Base) Query(ctx context.Context, text string, args []any, each func(engine.Row) error) error {
	return b.DB.Query(ctx, b.Text(text), args, each)
}

// Text is the statement for the engine. One that is not made by statement
// would escape the test that prepares them all.
func (b *Base) Text(query string) string {
	text, ok := b.Texts[query]
	if !ok {
		panic("store: a text that is no statement: " + query)
	}
	return text
}

// One reads a single row or fails with ErrNotFound.
func One[T any](ctx context.Context, b *Base, text string, scan func(engine.Row) (T, error), args ...any) (T, error) {
	var got T
	found := false
	err := b.Query(ctx, text, args, func(r engine.Row) (err error) {
		found = true
		got, err = scan(r)
		return err
	})
	if err == nil && !found {
		err = ErrNotFound
	}
	return got, err
}

// Many reads all rows.
func Many[T any](ctx context.Context, b *Base, text string, scan func(engine.Row) (T, error), args ...any) ([]T, error) {
	var list []T
	err := b.Query(ctx, text, args, func(r engine.Row) error {
		got, err := scan(r)
		list = append(list, got)
		return err
	})
	return list, err
}

// AtMost reads all rows, which are limit at most, each into its place in the list.
func AtMost[T any](ctx context.Context, b *Base, limit int, text string, read func(engine.Row, *T) error, args ...any) ([]T, error) {
	var list []T
	err := b.Query(ctx, text, args, func(r engine.Row) error {
		if list == nil {
			list = make([]T, 0, min(limit, 128))
		}
		list = append(list, *new(T))
		return read(r, &list[len(list)-1])
	})
	return list, err
}

// ScanInt reads a number, which is the only column.
func ScanInt(r engine.Row) (n int64, err error) {
	err = r.Scan(&n)
	return n, err
}

// ScanID reads a text, which is the only column.
func ScanID(r engine.Row) (id string, err error) { return id, r.Scan(&id) }

var idColumns = engine.ParseColumns("id TEXT")

// IDs are the arguments of a statement about rows: {rows: id TEXT}.
func (b *Base) IDs(list []string) []any {
	r := engine.NewRows(b.DB.Dialect(), idColumns, len(list))
	for _, id := range list {
		r.Text(id).Next()
	}
	return r.Args()
}

// ApplySlowly is apply for what several nodes do by themselves, where nobody waits for a second
// trip: it looks at what the steps got before it commits, so that the later of two leaves no error
// in PostgreSQL's log.
//
// Errors: those of apply.
func ApplySlowly(ctx context.Context, db engine.DB, steps []engine.Step) error {
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
