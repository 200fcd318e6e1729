package store

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
)

// engine is a database: SQLite or PostgreSQL.
type engine interface {
	dialect() dialect
	// query runs one statement for reading and calls each for every row. Like all that
	// reads it has a deadline, its own where ctx has none, and fails with ErrDown when
	// the database does not answer.
	query(ctx context.Context, text string, args []any, each func(row) error) error
	// walk is query for what is found by an index, in its order: no plan that
	// was made while a table was small may scan it when it has grown.
	walk(ctx context.Context, text string, args []any, each func(row) error) error
	// snapshot runs read, whose statements all see one moment and can write nothing.
	snapshot(ctx context.Context, how lookups, read func(asking) error) error
	// lease runs one writing statement by itself, outside the group commit.
	lease(ctx context.Context, text string, args []any, each func(row) error) error
	// hold is lease for the node's own lease, which waits for no other.
	hold(ctx context.Context, text string, args []any, each func(row) error) error
	// apply runs the steps and commits, in one trip where the database is elsewhere.
	// When a step does not get the rows that it wants, nothing is written: errLost.
	// Where the engine logs that as an error, look runs first: a row of it says that the
	// steps would lose, and nothing is written: errForeseen. Each step asks for
	// {unless lost} then, see look.go.
	// Nor is anything after another error, ErrDown among them, but for errUnknown: the commit
	// was sent, and what became of it is not known.
	apply(ctx context.Context, look, steps []step) error
	// transact is for who has to look first: it runs the guards, then what decide
	// returns after it saw their rows, and commits. When decide fails, nothing is
	// written. Its other errors are those of apply.
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
	// pools tells how the connections are used, without asking the database.
	pools() []Pool
	// room proves that rows can be added, where a commit that changes one proves less.
	room(ctx context.Context) error
	// ready fails where the schema lacks what this program's statements need beside tables.
	ready(ctx context.Context) error
	// claim makes this process the only one that serves the database, where that can
	// be: alone reports whether it is.
	claim() error
	alone() bool
	close()
}

// row is one row of a result.
type row interface{ Scan(dest ...any) error }

// step is one statement of a transaction. each may be nil.
type step struct {
	text string
	args []any
	each func(row) error
	// want is the number of rows that apply has to get; it does not call each with
	// them. 0 wants nothing.
	want int
}

// errLost says that a step of apply did not get the rows that it wants: somebody
// else was faster.
var errLost = errors.New("a row is not what it was")

// open connects to sqlite:PATH or postgres://….
func open(ctx context.Context, database string, log *slog.Logger) (engine, error) {
	if err := CheckAddress(database); err != nil {
		return nil, err
	}
	if path, ok := strings.CutPrefix(database, "sqlite:"); ok {
		return openSQLite(ctx, path)
	}
	return openPostgres(ctx, database, log)
}

// CheckAddress refuses what is the address of no engine. The error quotes nothing
// of it: there may be a password in it.
func CheckAddress(database string) error {
	path, isSQLite := strings.CutPrefix(database, "sqlite:")
	switch {
	case isSQLite && path == "":
		return errors.New("the address of the database has no path: want sqlite:PATH")
	case isSQLite, strings.HasPrefix(database, "postgres://"), strings.HasPrefix(database, "postgresql://"), strings.HasPrefix(database, "host="):
		return nil
	}
	return errors.New("the address of the database is of no engine that is known: want sqlite:PATH or postgres://…")
}

// migrator runs schema statements in a transaction that no other process migrates beside.
type migrator interface {
	exec(text string) error
	query(text string, each func(row) error) error
	// aside runs a statement outside of that transaction, where the engine can, and returns how
	// many rows it changed.
	aside(text string) (changed int64, err error)
	// impatient makes what follows fail that would wait for a lock.
	impatient() error
	// bar lets no committer write until the transaction ends.
	bar() error
}

// queryFunc runs a statement that has no arguments.
type queryFunc func(text string, each func(row) error) error

// outside asks outside of a transaction.
func outside(ctx context.Context, db engine) queryFunc {
	return func(text string, each func(row) error) error { return db.query(ctx, db.dialect().sql(text), nil, each) }
}

// errUnknown says that nobody knows whether a transaction was written: its commit was
// sent, and no answer came.
var errUnknown = errors.New("nobody knows whether the transaction was written")

// errForeseen says that apply found a step of look to have a row, and wrote nothing.
var errForeseen = errors.New("a guard would be lost")

var (
	// unlessForeseen is asked by every statement of a batch, once and before a row is looked at.
	unlessForeseen = `current_setting('cascada.lost', TRUE) IS DISTINCT FROM 'yes'`

	// guardLost is what PostgreSQL says where a guard was lost that nobody could foresee: as a
	// value that is no number. People read it, and commit knows it by it.
	guardLost = "a row was changed by somebody else first; this is no fault: Cascada runs the transaction again"
)

// commitTimeout bounds a transaction. What became of one that takes longer is
// found out, see committer.
const commitTimeout = 5 * time.Second

// ErrOldSchema: the database is older than the program, which may not change it.
var ErrOldSchema = errors.New("the database is older than this program")
