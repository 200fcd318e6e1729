package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
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

var (
	countSecrets = statement(`SELECT count(*) FROM secrets`)
)

// takesWrites fails with ErrDown where a server is a standby, or takes no writes for another reason.
func takesWrites(ctx context.Context, database string) error {
	if strings.HasPrefix(database, "sqlite:") {
		return nil
	}
	db, err := open(ctx, database, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer db.close()
	said := ""
	if err := outside(ctx, db)(`SELECT current_setting('transaction_read_only')`, func(r row) error { return r.Scan(&said) }); err != nil {
		return err
	}
	if said == "on" {
		return fmt.Errorf("%w: the server takes no writes: it is a standby, or default_transaction_read_only is on", ErrDown)
	}
	return nil
}

// Keyed reports whether a database holds what was encrypted under a master key. It
// changes nothing, and fails where Open would: the database cannot be reached, or
// is a newer program's.
//
// more is as Options.Migrations.
func Keyed(ctx context.Context, database string, more fs.FS) (keyed bool, err error) {
	var n int64
	list, err := migrations(more)
	if err != nil {
		return false, err
	}
	db, _, err := look(ctx, database, list)
	if err != nil {
		return false, err
	}
	if db == nil { // nothing is there, and something will be
		return false, takesWrites(ctx, database)
	}
	defer db.close()
	err = outside(ctx, db)(countSecrets, func(r row) error { return r.Scan(&n) })
	return n > 0, err
}
