// Package base is what every noun of the store builds on: a database with its statements, reads of one row
// or many, leases of due work with their quarantine, and the errors that readers get.
//
// It knows no noun and writes no change: the queue of changes does that.
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

// Base is what every noun reads with: a database, its statements, and the cipher of encrypted texts.
type Base struct {
	DB        engine.DB
	Log       *slog.Logger
	Texts     engine.Texts
	Personal  table.Personal
	Clocked   atomic.Bool                 // a test clock was moved
	Reclock   func(context.Context) error // renews the memory of test clocks; nil: nobody keeps one
	InCompany atomic.Bool                 // several merchants are writing
	RolledUp  atomic.Int64                // days before it are in the counters of all days
}

// PrepareAll checks every statement of the package against the database.
func (b *Base) PrepareAll(ctx context.Context) error {
	for text := range b.Texts {
		translated := b.Text(text)
		if err := b.DB.Prepare(ctx, translated); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
		if counted := engine.Counted(translated); counted != "" && b.DB.Dialect() == engine.PostgreSQL {
			if err := b.DB.Prepare(ctx, counted); err != nil {
				return fmt.Errorf("%s, counted: %w", text, err)
			}
		}
	}
	return nil
}

// LongRead is the timeout of an operator's reads of whole tables. Other statements have a default of eight
// seconds.
const LongRead = 24 * time.Hour

// Long returns a context for reads of whole tables.
func Long(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, LongRead)
}

// Query runs one of the package's reading statements.
func (b *Base) Query(ctx context.Context, text string, args []any, each func(engine.Row) error) error {
	return b.DB.Query(ctx, b.Text(text), args, each)
}

// Text returns a query's text for the engine. The query must be made with Statement.
func (b *Base) Text(query string) string { return b.Texts.Of(query) }

// One reads a single row, or fails with ErrNotFound.
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

// AtMost reads all rows, limit at most, each straight into its place in the list.
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

// ScanInt reads a number, the only column.
func ScanInt(r engine.Row) (n int64, err error) {
	err = r.Scan(&n)
	return n, err
}

// ScanID reads a text, the only column.
func ScanID(r engine.Row) (id string, err error) { return id, r.Scan(&id) }

// IDs are the arguments of a statement with {rows: id TEXT}.
func (b *Base) IDs(list []string) []any { return table.IDs(b.DB.Dialect(), list) }

// ApplySlowly is Apply for background work that several nodes do, where a second round trip does not
// matter: it checks the steps' rows before it commits, so the slower node leaves no error in PostgreSQL's
// log.
//
// Errors: those of Apply.
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
