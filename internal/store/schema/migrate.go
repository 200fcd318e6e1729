// Package schema is the tables' schema: the migrations in order, and the code that brings a database up to
// date while older programs use it.
//
// It knows the tables' columns only as SQL. Other packages know what a row means and how to read or write
// one.
package schema

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/store/engine"
)

// Mode says what may be done to the schema of an opened database.
type Mode int

const (
	// Migrate brings the schema up to date, except for contract migrations that running older programs do
	// not tolerate.
	Migrate Mode = iota
	// Make creates a missing schema, and refuses an older one.
	Make
	// Keep changes nothing, and refuses an older schema.
	Keep
)

// ErrOutdated: a contract migration that the program does not know was done, so the program may not write.
var ErrOutdated = errors.New("the database was brought to a newer version, which this program does not know: start the newer program")

const (
	createVersions  = `CREATE TABLE IF NOT EXISTS schema_version (n BIGINT NOT NULL PRIMARY KEY, contract BOOLEAN NOT NULL)`
	insertMigration = `INSERT INTO schema_version (n, contract) VALUES (%d, %t)`

	// olderAlive is how long an older program's committer counts as alive after its last write.
	olderAlive = 90 * time.Second
	// AliveEvery is how often an idle node writes a sign of life.
	AliveEvery = 30 * time.Second

	// barOlder stops older committers that were asleep, for example: their batches are refused, and they
	// cannot claim their rows.
	barOlder = `UPDATE committers SET fence = fence + 1 WHERE schema < %d`

	// LockPause is the first pause before a failed lock is retried.
	LockPause      = 100 * time.Millisecond
	maxLockPause   = 5 * time.Second
	migrationTries = 120 // ten minutes
)

var (
	selectMade     = engine.Statement(`SELECT count(*) FROM {tables} AS t WHERE t.name = 'schema_version'`)
	selectMigrated = engine.Statement(`SELECT n FROM schema_version`)
	// SelectContracts reads the newest contract migration that was done, 0 for none.
	SelectContracts = engine.Statement(`SELECT coalesce(max(n), 0) FROM schema_version WHERE contract`)
	selectOlder     = engine.Statement(`SELECT count(*), coalesce(max(at), 0), {now} FROM committers WHERE schema < CAST($1 AS BIGINT) AND at > {now} - CAST($2 AS BIGINT)`)
)

// versions are the migrations done to a database.
type versions map[int]bool

func readVersions(query engine.QueryFunc) (versions, error) {
	done := versions{}
	err := query(selectMigrated, func(r engine.Row) error {
		var n int
		err := r.Scan(&n)
		done[n] = true
		return err
	})
	return done, err
}

// known refuses a database with a contract migration that the program does not know.
func (v versions) known(newest int, query engine.QueryFunc) error {
	if len(v) == 0 {
		return nil
	}
	floor := 0
	if err := query(SelectContracts, func(r engine.Row) error { return r.Scan(&floor) }); err != nil {
		return err
	}
	if floor > newest {
		return fmt.Errorf("the database has version %d, this program knows up to %d: start a newer one", floor, newest)
	}
	return nil
}

// missing lists the migrations not done yet.
func (v versions) missing(known Known) (left []migration) {
	for _, m := range known {
		if !v[m.version] {
			left = append(left, m)
		}
	}
	return left
}

// migrate does the remaining migrations, except contract migrations of a database in use: contract does
// those. Any number of nodes may start at once.
func (known Known) migrate(ctx context.Context, db engine.DB, log *slog.Logger) error {
	var left []migration
	err := db.Migrate(ctx, func(m engine.Migrator) error {
		if err := m.Exec(createVersions); err != nil {
			return err
		}
		done, err := readVersions(m.Query)
		if err != nil {
			return err
		}
		if err := done.known(len(known), m.Query); err != nil {
			return err
		}
		left = done.missing(known)
		fresh := len(done) == 0
		for fresh && len(left) > 0 { // nobody uses the database
			if err := m.Exec(db.Dialect().SQL(strings.ReplaceAll(left[0].text, "{concurrently}", ""))); err != nil {
				return fmt.Errorf("%s: %w", left[0], err)
			}
			if err := m.Exec(left[0].record()); err != nil {
				return err
			}
			left = left[1:]
		}
		return nil
	})
	for _, m := range left {
		if err == nil && !m.contract {
			err = m.expand(ctx, db, log)
		}
	}
	if err != nil {
		return fmt.Errorf("migrate: %w", engine.HeldUp(err))
	}
	return nil
}

// Bring makes the schema what the program needs, or refuses it, depending on the mode.
//
// Errors: engine.ErrOldSchema.
func (known Known) Bring(ctx context.Context, db engine.DB, mode Mode, log *slog.Logger) error {
	if mode == Make {
		if made, err := hasTables(engine.Outside(ctx, db)); err != nil || made {
			return errors.Join(err, known.fits(ctx, db))
		}
	}
	if mode == Keep {
		return known.fits(ctx, db)
	}
	return known.migrate(ctx, db, log)
}

// record is the statement that records a migration as done.
func (m migration) record() string {
	return fmt.Sprintf(insertMigration, m.version, m.contract)
}

// expand does an expand migration while others use the database.
func (m migration) expand(ctx context.Context, db engine.DB, log *slog.Logger) error {
	began := time.Now()
	err := m.patiently(ctx, log, func() error {
		return db.Migrate(ctx, func(to engine.Migrator) error {
			done, err := readVersions(to.Query)
			if err != nil || done[m.version] {
				return err
			}
			if m.aside {
				err = m.runAside(to, db.Dialect())
			} else if err = to.Impatient(); err == nil {
				err = to.Exec(db.Dialect().SQL(m.text))
			}
			if err != nil {
				return err
			}
			return to.Exec(m.record())
		})
	})
	if err != nil {
		return fmt.Errorf("%s: %w", m, err)
	}
	log.Info("the schema was expanded", "version", m.version, "name", m.name, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// runAside runs the statements that must not hold a lock for long.
func (m migration) runAside(to engine.Migrator, d engine.Dialect) error {
	for _, text := range m.statements() {
		for {
			changed, err := to.Aside(d.SQL(text))
			if err != nil {
				return err
			}
			if !m.repeated || changed == 0 {
				break
			}
		}
	}
	return nil
}

// patiently retries a migration that did not get its locks.
func (m migration) patiently(ctx context.Context, log *slog.Logger, do func() error) error {
	pause := LockPause
	for tries := 1; ; tries++ {
		err := do()
		if !engine.LockTaken(err) || tries == migrationTries {
			return err
		}
		log.Info("a migration waits for a lock, and lets the others pass", "version", m.version, "tries", tries)
		if !engine.Rest(pause, ctx.Done()) {
			return ctx.Err()
		}
		pause = min(2*pause, maxLockPause)
	}
}

// errOlder: programs that a contract migration would break are still alive.
type errOlder struct {
	nodes int
	heard time.Duration // since the last sign of life of any of them
}

func (e *errOlder) Error() string {
	return fmt.Sprintf("%d committers of older programs are alive (the last was heard of %s ago): stop those, or wait until they are gone for %s",
		e.nodes, e.heard.Round(time.Second), olderAlive)
}

// older fails with *errOlder while committers of programs that do not know a migration are alive.
func (m migration) older(query engine.QueryFunc) error {
	text := strings.NewReplacer("$1", fmt.Sprint(m.version), "$2", fmt.Sprint(olderAlive.Microseconds())).Replace(selectOlder)
	var n int
	var at, now int64
	if err := query(text, func(r engine.Row) error { return r.Scan(&n, &at, &now) }); err != nil || n == 0 {
		return err
	}
	return &errOlder{n, time.Duration(now-at) * time.Microsecond}
}

// contractAlone does a contract migration, unless older programs are alive.
//
// Errors: *errOlder.
func (m migration) contractAlone(ctx context.Context, db engine.DB, log *slog.Logger) error {
	err := m.patiently(ctx, log, func() error {
		return db.Migrate(ctx, func(to engine.Migrator) error {
			done, err := readVersions(to.Query)
			if err != nil || done[m.version] {
				return err
			}
			if err := to.Impatient(); err != nil {
				return err
			}
			// Before the check who is alive: nobody can write or become a committer in between.
			if err := to.Bar("committers"); err != nil {
				return err
			}
			if err := m.older(to.Query); err != nil {
				return err
			}
			for _, text := range []string{db.Dialect().SQL(m.text), m.record(), fmt.Sprintf(barOlder, m.version)} {
				if err := to.Exec(text); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("%s: %w", m, err)
	}
	log.Info("the schema was contracted: programs that do not know it cannot write any more", "version", m.version, "name", m.name)
	return nil
}

// contract does the remaining contract migrations. It stops at the first that must wait.
//
// Errors: *errOlder.
func (known Known) contract(ctx context.Context, db engine.DB, log *slog.Logger) error {
	done, err := readVersions(engine.Outside(ctx, db))
	if err != nil {
		return err
	}
	for _, m := range done.missing(known) {
		if !m.contract {
			return fmt.Errorf("%s is not done", m)
		}
		if err := m.contractAlone(ctx, db, log); err != nil {
			return err
		}
	}
	return nil
}

// Finish does the remaining contract migrations as soon as no older program is alive. It returns when none
// is left, when life ends, or when closing is closed.
func (known Known) Finish(life context.Context, closing <-chan struct{}, db engine.DB, log *slog.Logger) {
	said := false
	for {
		err := known.contract(life, db, log)
		if err == nil || life.Err() != nil {
			return
		}
		if _, waits := errors.AsType[*errOlder](err); !waits || !said {
			log.Info("a contract migration waits", "error", err)
			said = waits
		}
		if !engine.Rest(AliveEvery, closing) {
			return
		}
	}
}

// Contract does the remaining contract migrations, and waits up to patience for older programs to go. It
// returns what the rest waits for, nil if none is left.
func (known Known) Contract(ctx context.Context, db engine.DB, log *slog.Logger, patience time.Duration) (waits, err error) {
	if err := db.Claim(); err != nil { // an SQLite file in use, by an unknown process
		return err, nil
	}
	until := time.Now().Add(patience)
	for {
		err := known.contract(ctx, db, log)
		_, older := errors.AsType[*errOlder](err)
		if !older {
			return nil, err
		}
		if time.Until(until) <= 0 || !engine.Rest(min(time.Second, time.Until(until)), ctx.Done()) {
			return err, ctx.Err()
		}
	}
}

// Migration describes a migration for people.
type Migration struct {
	Version  int
	Name     string
	Contract bool // it waits until no older program is alive
	Done     bool
	Waits    string // what it waits for; "" if it would be done now
}

// List returns the migrations done to a database and those that Migrate would do. It changes nothing.
//
// Errors: the database belongs to a newer program, or cannot be reached.
//
// more are migration files in addition to the program's own; nil is none.
func List(ctx context.Context, database string, more fs.FS) ([]Migration, error) {
	list, err := Read(more)
	if err != nil {
		return nil, err
	}
	db, done, err := openReadOnly(ctx, database, list)
	if err != nil {
		return nil, err
	}
	if db != nil {
		defer db.Close()
	}
	var told []Migration
	for _, m := range list {
		t := Migration{Version: m.version, Name: m.name, Contract: m.contract, Done: done[m.version]}
		if t.Contract && !t.Done && db != nil {
			err := m.older(engine.Outside(ctx, db))
			if _, waits := errors.AsType[*errOlder](err); err != nil && !waits {
				return nil, err
			} else if waits {
				t.Waits = err.Error()
			}
		}
		told = append(told, t)
	}
	return told, nil
}

// openReadOnly opens a database read-only; db is nil if there is none yet, or it has no tables.
func openReadOnly(ctx context.Context, database string, list Known) (db engine.DB, done versions, err error) {
	if err := engine.CheckAddress(database); err != nil {
		return nil, nil, err
	}
	if path, isSQLite := strings.CutPrefix(database, "sqlite:"); isSQLite {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // opening would create it
			return nil, nil, nil
		}
	}
	if db, err = engine.Open(ctx, database, slog.New(slog.DiscardHandler)); err != nil {
		return nil, nil, err
	}
	made, err := hasTables(engine.Outside(ctx, db))
	if err == nil && made {
		if done, err = readVersions(engine.Outside(ctx, db)); err == nil {
			err = done.known(len(list), engine.Outside(ctx, db))
		}
	}
	if err != nil || len(done) == 0 {
		db.Close()
		return nil, nil, err
	}
	return db, done, nil
}

func hasTables(query engine.QueryFunc) (bool, error) {
	n := 0
	err := query(selectMade, func(r engine.Row) error { return r.Scan(&n) })
	return n > 0, err
}

// fits refuses a database that the program may not change and cannot use as it is.
func (known Known) fits(ctx context.Context, db engine.DB) error {
	if err := known.Suits(engine.Outside(ctx, db)); err != nil {
		return err
	}
	return db.Ready(ctx)
}

// Suits refuses a schema that is unknown to the program or lacks what it needs.
//
// Errors: engine.ErrOldSchema.
func (known Known) Suits(query engine.QueryFunc) error {
	made, err := hasTables(query)
	if err != nil {
		return err
	}
	if !made {
		return fmt.Errorf("%w: it has no tables: run cascada migrate, or start cascada serve", engine.ErrOldSchema)
	}
	done, err := readVersions(query)
	if err != nil {
		return err
	}
	if err := done.known(len(known), query); err != nil {
		return err
	}
	for _, m := range done.missing(known) {
		if !m.contract {
			return fmt.Errorf("%w: %s is not done: run cascada migrate, or start the new cascada serve", engine.ErrOldSchema, m)
		}
	}
	return nil
}

// Keyed reports whether a database has data encrypted under a master key. It changes nothing, and fails
// where Open would: the database cannot be reached, or belongs to a newer program.
//
// more is as for List.
func Keyed(ctx context.Context, database string, more fs.FS) (keyed bool, err error) {
	var n int64
	list, err := Read(more)
	if err != nil {
		return false, err
	}
	db, _, err := openReadOnly(ctx, database, list)
	if err != nil {
		return false, err
	}
	if db == nil { // no database yet, but one will be created
		return false, checkWritable(ctx, database)
	}
	defer db.Close()
	err = engine.Outside(ctx, db)(countSecrets, func(r engine.Row) error { return r.Scan(&n) })
	return n > 0, err
}

// checkWritable fails with engine.ErrDown if a server is a standby, or takes no writes for another reason.
func checkWritable(ctx context.Context, database string) error {
	if strings.HasPrefix(database, "sqlite:") {
		return nil
	}
	db, err := engine.Open(ctx, database, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer db.Close()
	said := ""
	if err := engine.Outside(ctx, db)(`SELECT current_setting('transaction_read_only')`, func(r engine.Row) error { return r.Scan(&said) }); err != nil {
		return err
	}
	if said == "on" {
		return fmt.Errorf("%w: the server takes no writes: it is a standby, or default_transaction_read_only is on", engine.ErrDown)
	}
	return nil
}

var (
	countSecrets = engine.Statement(`SELECT count(*) FROM secrets`)
)
