// Package engine is the database as the store speaks to it: SQLite or PostgreSQL, with one text per
// statement, in which macros stand for all that differs between the two (Dialect). Rows are handed in
// as arguments of one statement (Rows). It connects, and connects again, reads moments (Snapshot), writes
// transactions (Apply, Transact), and says of every failure whether something may have been written.
//
// It knows no table. What a row means, and which rows belong together, is the store's business.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"
)

// DB is a database: SQLite or PostgreSQL.
type DB interface {
	Dialect() Dialect
	// Query runs one statement for reading and calls each for every row. Like all that
	// reads it has a deadline, its own where ctx has none, and fails with ErrDown when
	// the database does not answer.
	Query(ctx context.Context, text string, args []any, each func(Row) error) error
	// Walk is query for what is found by an index, in its order: no plan that
	// was made while a table was small may scan it when it has grown.
	Walk(ctx context.Context, text string, args []any, each func(Row) error) error
	// Snapshot runs read, whose statements all see one moment and can write nothing.
	Snapshot(ctx context.Context, how Lookups, read func(Asking) error) error
	// Lease runs one writing statement by itself, outside the group commit.
	Lease(ctx context.Context, text string, args []any, each func(Row) error) error
	// Hold is lease for the node's own lease, which waits for no other.
	Hold(ctx context.Context, text string, args []any, each func(Row) error) error
	// Apply runs the steps and commits, in one trip where the database is elsewhere.
	// When a step does not get the rows that it wants, nothing is written: ErrLost.
	// Where the engine logs that as an error, look runs first: a row of it says that the
	// steps would lose, and nothing is written: ErrForeseen. Each step asks for
	// {unless lost} then, see look.go.
	// Nor is anything after another error, ErrDown among them, but for ErrUnknown: the commit
	// was sent, and what became of it is not known.
	Apply(ctx context.Context, look, steps []Step) error
	// Transact is for who has to look first: it runs the guards, then what decide
	// returns after it saw their rows, and commits. When decide fails, nothing is
	// written. Its other errors are those of apply.
	Transact(ctx context.Context, guards []Step, decide func() ([]Step, error)) error
	// Migrate runs the statements in one transaction that no other process
	// runs at the same time.
	Migrate(ctx context.Context, run func(Migrator) error) error
	// Tidy frees the room of rows that were deleted, where the engine does not do
	// so at once.
	Tidy(ctx context.Context) error
	// Prepare reports whether the engine accepts a statement.
	Prepare(ctx context.Context, text string) error
	Ping(ctx context.Context) error
	// Pools tells how the connections are used, without asking the database.
	Pools() []Pool
	// Room proves that rows can be added, where a commit that changes one proves less.
	Room(ctx context.Context) error
	// Ready fails where the schema lacks what this program's statements need beside tables.
	Ready(ctx context.Context) error
	// Claim makes this process the only one that serves the database, where that can
	// be: alone reports whether it is.
	Claim() error
	Alone() bool
	Close()
}

// Row is one row of a result.
type Row interface{ Scan(dest ...any) error }

// Step is one statement of a transaction. each may be nil.
type Step struct {
	Text string
	Args []any
	Each func(Row) error
	// Want is the number of rows that apply has to get; it does not call each with
	// them. 0 wants nothing.
	Want int
}

// ErrLost says that a step of apply did not get the rows that it wants: somebody
// else was faster.
var ErrLost = errors.New("a row is not what it was")

// Open connects to sqlite:PATH or postgres://….
func Open(ctx context.Context, database string, log *slog.Logger) (DB, error) {
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

// Migrator runs schema statements in a transaction that no other process migrates beside.
type Migrator interface {
	Exec(text string) error
	Query(text string, each func(Row) error) error
	// Aside runs a statement outside of that transaction, where the engine can, and returns how
	// many rows it changed.
	Aside(text string) (changed int64, err error)
	// Impatient makes what follows fail that would wait for a lock.
	Impatient() error
	// Bar lets no committer write until the transaction ends.
	Bar() error
}

// QueryFunc runs a statement that has no arguments.
type QueryFunc func(text string, each func(Row) error) error

// Outside asks outside of a transaction.
func Outside(ctx context.Context, db DB) QueryFunc {
	return func(text string, each func(Row) error) error { return db.Query(ctx, db.Dialect().SQL(text), nil, each) }
}

// ErrUnknown says that nobody knows whether a transaction was written: its commit was
// sent, and no answer came.
var ErrUnknown = errors.New("nobody knows whether the transaction was written")

// ErrForeseen says that apply found a step of look to have a row, and wrote nothing.
var ErrForeseen = errors.New("a guard would be lost")

var (
	// unlessForeseen is asked by every statement of a batch, once and before a row is looked at.
	unlessForeseen = `current_setting('cascada.lost', TRUE) IS DISTINCT FROM 'yes'`

	// GuardLost is what PostgreSQL says where a guard was lost that nobody could foresee: as a
	// value that is no number. People read it, and commit knows it by it.
	GuardLost = "a row was changed by somebody else first; this is no fault: Cascada runs the transaction again"
)

// CommitTimeout bounds a transaction. What became of one that takes longer is
// found out, see committer.
const CommitTimeout = 5 * time.Second

// ErrOldSchema: the database is older than the program, which may not change it.
var ErrOldSchema = errors.New("the database is older than this program")
