package store

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pg is PostgreSQL. Readers and committers have pools of their own, because
// their plans differ.
type pg struct {
	readers *pgxpool.Pool
	writers *pgxpool.Pool
}

const (
	pgReaders = 8
	pgWriters = 3 // two committers and a spare
	// connectTimeout is for a host that does not answer at all, where the address
	// says no connect_timeout.
	connectTimeout = 5 * time.Second
)

func openPostgres(ctx context.Context, dsn string) (*pg, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	config.ConnConfig.RuntimeParams["application_name"] = "cascada"
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	// Compiling a statement takes longer than any of ours runs; the planner, which
	// guesses that JSON has many keys, would do so even over empty tables.
	config.ConnConfig.RuntimeParams["jit"] = "off"
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.MaxConns = pgReaders
	readers, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	config = config.Copy()
	// None is opened before the migrations have made the types that it learns of.
	config.MaxConns, config.MinConns = pgWriters, 0
	config.AfterConnect = registerRows
	// A statement prepared while a table was empty keeps a plan that scans it
	// when it has grown. A batch only ever wants index lookups; that an index is not
	// read from end to end, {among} sees to.
	for _, off := range []string{"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin"} {
		config.ConnConfig.RuntimeParams[off] = "off"
	}
	// So there is one plan worth having, and to make it anew each time costs as much
	// as to run it.
	config.ConnConfig.RuntimeParams["plan_cache_mode"] = "force_generic_plan"
	writers, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		readers.Close()
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	db := &pg{readers, writers}
	if err := db.ping(ctx); err != nil {
		db.close()
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	return db, nil
}

func (db *pg) dialect() dialect               { return postgres }
func (db *pg) ping(ctx context.Context) error { return db.readers.Ping(ctx) }
func (db *pg) close()                         { db.readers.Close(); db.writers.Close() }

func (db *pg) query(ctx context.Context, text string, args []any, each func(row) error) error {
	result, err := db.readers.Query(ctx, text, args...)
	if err != nil {
		return down(err)
	}
	return drain(result, each)
}

// down tells that a connection could not be made from what went wrong on one.
func down(err error) error {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return fmt.Errorf("%w: %w", ErrDown, err)
	}
	return err
}

// walk uses the writers' connections, whose plans only look things up.
func (db *pg) walk(ctx context.Context, text string, args []any, each func(row) error) error {
	result, err := db.writers.Query(ctx, text, args...)
	if err != nil {
		return down(err)
	}
	return drain(result, each)
}

func (db *pg) lease(ctx context.Context, text string, args []any, each func(row) error) error {
	return db.query(ctx, text, args, each)
}

func drain(result pgx.Rows, each func(row) error) error {
	defer result.Close()
	for result.Next() {
		if each == nil {
			continue
		}
		if err := each(result); err != nil {
			return err
		}
	}
	return result.Err()
}

// countedTexts has, for each statement that returns rows, one that fails when it
// does not return so many. Its last argument is the number.
var countedTexts = sync.OnceValue(func() map[string]string {
	texts := map[string]string{}
	for _, text := range postgresTexts() {
		if strings.Contains(text, "RETURNING") {
			texts[text] = counted(text)
		}
	}
	return texts
})

var argument = regexp.MustCompile(`\$(\d+)`)

// counted divides by zero where the number is another: that ends the transaction,
// before what follows in the same trip is run.
func counted(text string) string {
	last := 0
	for _, found := range argument.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(found[1]) // digits
		last = max(last, n)
	}
	return fmt.Sprintf("WITH found AS (%s) SELECT 1 / CAST(count(*) = $%d AS INT) FROM found", text, last+1)
}

// Codes of PostgreSQL that say of a step that somebody else was faster. No statement
// of ours divides but for that; of two that wait for each other one is ended.
const (
	divisionByZero = "22012"
	deadlock       = "40P01"
)

// apply takes one round trip.
func (db *pg) apply(ctx context.Context, steps []step) error {
	all := make([]step, 0, len(steps)+2)
	all = append(all, step{text: "BEGIN"})
	for _, s := range steps {
		if s.want > 0 {
			s = step{text: countedTexts()[s.text], args: append(slices.Clip(s.args), s.want)}
		}
		all = append(all, s)
	}
	conn, err := db.writers.Acquire(ctx)
	if err != nil {
		return down(err)
	}
	defer conn.Release()
	if err := send(ctx, conn, append(all, step{text: "COMMIT"})); err != nil {
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && (e.Code == divisionByZero || e.Code == deadlock) {
			err = errLost
		}
		return errors.Join(err, rollback(ctx, conn))
	}
	return nil
}

// transact takes two round trips: begin and the guards, then everything else
// and the commit.
func (db *pg) transact(ctx context.Context, guards []step, decide func() ([]step, error)) error {
	conn, err := db.writers.Acquire(ctx)
	if err != nil {
		return down(err)
	}
	defer conn.Release()
	begin := make([]step, 0, len(guards)+1)
	begin = append(begin, step{text: "BEGIN"})
	begin = append(begin, guards...)
	if err := send(ctx, conn, begin); err != nil {
		return errors.Join(err, rollback(ctx, conn))
	}
	writes, err := decide()
	if err != nil {
		return errors.Join(err, rollback(ctx, conn))
	}
	if err := send(ctx, conn, append(writes, step{text: "COMMIT"})); err != nil {
		return errors.Join(err, rollback(ctx, conn))
	}
	return nil
}

// send runs the steps in one round trip.
func send(ctx context.Context, conn *pgxpool.Conn, steps []step) (err error) {
	var batch pgx.Batch
	for _, s := range steps {
		batch.Queue(s.text, s.args...)
	}
	results := conn.SendBatch(ctx, &batch)
	defer func() { err = errors.Join(err, results.Close()) }()
	for _, s := range steps {
		if s.each == nil {
			if _, err := results.Exec(); err != nil {
				return err
			}
			continue
		}
		result, err := results.Query()
		if err != nil {
			return err
		}
		if err := drain(result, s.each); err != nil {
			return err
		}
	}
	return nil
}

// rollback leaves the connection usable, or closes it.
func rollback(ctx context.Context, conn *pgxpool.Conn) error {
	if conn.Conn().IsClosed() {
		return nil // the server rolls back by itself
	}
	if _, err := conn.Exec(ctx, "ROLLBACK"); err != nil {
		return errors.Join(fmt.Errorf("rollback: %w", err), conn.Conn().Close(ctx))
	}
	return nil
}

// migrationLock is an arbitrary number that all nodes agree on.
const migrationLock = 7163290418

func (db *pg) migrate(ctx context.Context, run func(migrator) error) error {
	return pgx.BeginFunc(ctx, db.readers, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", migrationLock); err != nil {
			return err
		}
		if err := run(pgMigrator{ctx, tx}); err != nil {
			return err
		}
		return createRowTypes(ctx, tx)
	})
}

type pgMigrator struct {
	ctx context.Context
	tx  pgx.Tx
}

func (m pgMigrator) exec(text string) error {
	_, err := m.tx.Exec(m.ctx, text, pgx.QueryExecModeSimpleProtocol)
	return err
}

func (m pgMigrator) version() (v int, err error) {
	err = m.tx.QueryRow(m.ctx, selectVersion).Scan(&v)
	return v, err
}

// tidy vacuums the tables that rows only pass through: payments in flight and
// what waits to be sealed. A busy service leaves thousands of dead rows a second
// in them, and autovacuum looks once a minute: by then every look at the table
// costs a hundred times what it should.
func (db *pg) tidy(ctx context.Context) error {
	_, err := db.readers.Exec(ctx, "VACUUM (SKIP_LOCKED, TRUNCATE FALSE) processing, unsealed", pgx.QueryExecModeSimpleProtocol)
	return err
}

func (db *pg) prepare(ctx context.Context, text string) error {
	conn, err := db.readers.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	_, err = conn.Conn().Prepare(ctx, text, text)
	return err
}
