// Package engine is the store's database layer: SQLite or PostgreSQL, with one text per statement, whose
// macros stand for every difference between the two (Dialect). Rows are the arguments of one statement
// (Rows). It connects and reconnects, reads snapshots (Snapshot), writes transactions (Apply, Transact),
// and says of every failure whether something may have been written.
//
// It knows no table. The store knows what a row means and which rows belong together.
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
	// Query runs one reading statement and calls each for every row. Like every read it has a deadline, its
	// own if ctx has none, and fails with ErrDown when the database does not answer.
	Query(ctx context.Context, text string, args []any, each func(Row) error) error
	// Walk is Query for rows found through an index, in index order: a plan made while a table was small
	// cannot scan the table after it has grown.
	Walk(ctx context.Context, text string, args []any, each func(Row) error) error
	// Snapshot runs read. All its statements see one moment and cannot write.
	Snapshot(ctx context.Context, how Lookups, read func(Asking) error) error
	// Lease runs one writing statement by itself, outside the group commit.
	Lease(ctx context.Context, text string, args []any, each func(Row) error) error
	// Hold is Lease for the node's own lease, which waits for no other lease.
	Hold(ctx context.Context, text string, args []any, each func(Row) error) error
	// Apply runs the steps and commits, in one round trip if the database is remote. If a step gets fewer
	// or more rows than it wants, nothing is written: ErrLost. Where the engine logs that as an error, look
	// runs first: if it returns a row, the steps would lose, and nothing is written: ErrForeseen. Each step
	// then asks for {unless lost}, see look.go; if one does not, ErrLost. After other errors, such as ErrDown, nothing is written
	// either. The exception is ErrUnknown: the commit was sent, and its result is not known.
	Apply(ctx context.Context, look, steps []Step) error
	// Transact is for callers that must read first: it runs the guards, then the steps that decide returns
	// after it saw their rows, and commits. If decide fails, nothing is written. Its other errors are those
	// of Apply.
	Transact(ctx context.Context, guards []Step, decide func() ([]Step, error)) error
	// Migrate runs the statements in one transaction that excludes the migrations of all other processes.
	Migrate(ctx context.Context, run func(Migrator) error) error
	// Tidy frees the space of deleted rows in tables, where the engine does not do so at once.
	Tidy(ctx context.Context, tables ...string) error
	// Prepare reports whether the engine accepts a statement.
	Prepare(ctx context.Context, text string) error
	Ping(ctx context.Context) error
	// Pools reports the use of connections, without querying the database.
	Pools() []Pool
	// Room proves that rows can be added; a commit that changes one proves less.
	HasRoom(ctx context.Context) error
	// Ready fails if the schema lacks what this program's statements need besides tables.
	Ready(ctx context.Context) error
	// Claim makes this process the only one that serves the database, where possible. Alone reports whether
	// it is.
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
	// Want is the number of rows that Apply must get; it does not call each for them. 0 wants nothing.
	Want int
}

// ErrLost: a step of Apply did not get the rows that it wants, because another transaction was faster.
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

// CheckAddress refuses an address that belongs to no engine. The error quotes nothing of it: the
// address may have a password.
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

// Migrator runs schema statements in a transaction that excludes other migrating processes.
type Migrator interface {
	Exec(text string) error
	Query(text string, each func(Row) error) error
	// Aside runs a statement outside that transaction, where the engine can, and returns the number of
	// changed rows.
	Aside(text string) (changed int64, err error)
	// Impatient makes later statements fail instead of waiting for a lock.
	Impatient() error
	// Bar stops everybody from writing into a table until the transaction ends.
	Bar(table string) error
}

// QueryFunc runs a statement without arguments.
type QueryFunc func(text string, each func(Row) error) error

// Outside queries outside a transaction.
func Outside(ctx context.Context, db DB) QueryFunc {
	return func(text string, each func(Row) error) error { return db.Query(ctx, db.Dialect().SQL(text), nil, each) }
}

// ErrUnknown: it is not known whether a transaction was written. Its commit was sent, and no answer came.
var ErrUnknown = errors.New("nobody knows whether the transaction was written")

// ErrForeseen: a step of Apply's look returned a row, so nothing was written.
var ErrForeseen = errors.New("a guard would be lost")

var (
	// unlessForeseen is checked by every statement of a batch, once, before it reads a row.
	unlessForeseen = `current_setting('cascada.lost', TRUE) IS DISTINCT FROM 'yes'`

	// GuardLost is PostgreSQL's error value when a guard is lost unforeseen: a text that is not a number.
	// People read it, and commit recognizes the error by it.
	GuardLost = "a row was changed by somebody else first; this is no fault: Cascada runs the transaction again"
)

// CommitTimeout bounds a transaction. The fate of a longer one is found out, see committer.
const CommitTimeout = 5 * time.Second

// ErrOldSchema: the database is older than the program, and the program may not change it.
var ErrOldSchema = errors.New("the database is older than this program")
