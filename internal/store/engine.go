package store

import (
	"context"
	"fmt"
	"strings"
)

// engine is a database: SQLite or PostgreSQL.
type engine interface {
	dialect() dialect
	// query runs one statement for reading and calls each for every row.
	query(ctx context.Context, text string, args []any, each func(row) error) error
	// walk is query for what is found by an index, in its order: no plan that
	// was made while a table was small may scan it when it has grown.
	walk(ctx context.Context, text string, args []any, each func(row) error) error
	// lease runs one writing statement by itself, outside the group commit.
	lease(ctx context.Context, text string, args []any, each func(row) error) error
	// transact runs the guards, then what decide returns after it saw their
	// rows, and commits. When decide fails, nothing is written.
	transact(ctx context.Context, guards []step, decide func() ([]step, error)) error
	// migrate runs the statements in one transaction that no other process
	// runs at the same time.
	migrate(ctx context.Context, run func(migrator) error) error
	// tidy frees the room of rows that were deleted, where the engine does not do
	// so at once.
	tidy(ctx context.Context) error
	// prepare reports whether the engine accepts a statement.
	prepare(ctx context.Context, text string) error
	ping(ctx context.Context) error
	close()
}

// row is one row of a result.
type row interface{ Scan(dest ...any) error }

// step is one statement of a transaction. each may be nil.
type step struct {
	text string
	args []any
	each func(row) error
}

// migrator runs schema statements.
type migrator interface {
	exec(text string) error
	version() (int, error)
}

// open connects to sqlite:PATH or postgres://….
func open(ctx context.Context, database string) (engine, error) {
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		return openSQLite(ctx, path)
	}
	if strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://") || strings.HasPrefix(database, "host=") {
		return openPostgres(ctx, database)
	}
	return nil, fmt.Errorf("database %q: want sqlite:PATH or postgres://…", database)
}
