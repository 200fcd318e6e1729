package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	modernc "modernc.org/sqlite" // and the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// lite is SQLite: one connection that writes and a few that read beside it
// (write-ahead log). In memory there is but the one.
type lite struct {
	readers *sql.DB // nil: the writer reads
	writers *sql.DB // holds the one writer

	mu       countedMutex // held by whoever uses the writer
	writer   *sql.Conn
	prepared map[string]*sql.Stmt // on the writer

	reading sync.Mutex // owns queries
	queries map[string]*sql.Stmt

	path   string
	lock   *os.File    // held by the process that serves the file, else nil; owned by mu
	locked atomic.Bool // it is held
}

const (
	liteReaders = 4
	// A file is opened so often, with such a pause, while somebody else opens it.
	openTries = 200
	openPause = 50 * time.Millisecond
)

func openSQLite(ctx context.Context, path string) (*lite, error) {
	if err := privateFile(path); err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	writers, err := sql.Open("sqlite", liteDSN(path,
		"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(10000)",
		// The working set of the write path stays in memory, and a checkpoint
		// comes once for many commits: measured, half as fast again. Not more than
		// that: after a page was split, the commit looks through the whole cache.
		"cache_size(-16384)", "wal_autocheckpoint(10000)",
		// A statement of many rows can be undone by itself; what that takes need
		// not go to disk.
		"temp_store(MEMORY)"))
	if err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	writer, err := firstConn(ctx, writers)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite %s: %w", path, err), writers.Close())
	}
	readers, err := sql.Open("sqlite", liteDSN(path, "busy_timeout(10000)", "query_only(ON)", "cache_size(-8192)"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite: %w", err), writers.Close())
	}
	readers.SetMaxOpenConns(liteReaders)
	readers.SetMaxIdleConns(liteReaders)
	return &lite{
		readers: readers, writers: writers, writer: writer,
		prepared: map[string]*sql.Stmt{}, queries: map[string]*sql.Stmt{}, path: path,
	}, nil
}

// privateFile makes a database's file for its owner alone, unless there is one: SQLite would
// let the whole machine read it, and gives its log the same rights. A file that is there is
// not touched: to close it would let go of the locks that this process has on it.
func privateFile(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := brokenOff(path); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// firstConn opens the file. One that somebody else opens or closes at that moment may be
// locked, whatever busy_timeout says: SQLite does not wait where it looks at the journal.
func firstConn(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	for tries := 0; ; tries++ {
		conn, err := db.Conn(ctx)
		e, busy := errors.AsType[*modernc.Error](err)
		if err == nil || !busy || e.Code()&0xff != sqlite3.SQLITE_BUSY || tries == openTries || !rest(openPause, ctx.Done()) {
			return conn, err
		}
	}
}

func liteDSN(path string, pragmas ...string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + url.Values{"_pragma": pragmas}.Encode()
}

func (db *lite) dialect() dialect { return sqlite }

func (db *lite) ping(ctx context.Context) error {
	if db.readers == nil {
		return nil
	}
	return db.readers.PingContext(ctx)
}

// room is for engine: a commit adds to the log, whatever it writes.
func (db *lite) room(context.Context) error { return nil }

func (db *lite) close() {
	db.mu.Lock()
	defer db.mu.Unlock()
	// A connection whose statements are open does not end, and keeps its files.
	for _, s := range db.queries {
		s.Close()
	}
	for _, s := range db.prepared {
		s.Close()
	}
	if db.readers != nil {
		db.readers.Close()
	}
	db.writer.Close()
	db.writers.Close()
	if db.lock != nil {
		db.lock.Close() // and so lets go
	}
}

// claim locks a file beside the database's. The system lets the lock go when the
// process ends, however it does, so whoever has it knows that nobody else lives.
func (db *lite) claim() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.lock != nil {
		return nil
	}
	file, err := os.OpenFile(db.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock %s: %w", db.path, err)
	}
	switch err := lockFile(file); {
	case errors.Is(err, errors.ErrUnsupported): // then leases tell who lives
		return file.Close()
	case err != nil:
		return errors.Join(fmt.Errorf("another process serves %s: an SQLite database has one service", db.path), err, file.Close())
	}
	db.lock = file
	db.locked.Store(true)
	return nil
}

func (db *lite) alone() bool { return db.locked.Load() }

func (db *lite) query(ctx context.Context, text string, args []any, each func(row) error) error {
	if db.readers == nil {
		return db.lease(ctx, text, args, each)
	}
	s, err := db.readStmt(ctx, text)
	if err != nil {
		return err
	}
	return down(drainSQL(ctx, s, args, each))
}

func (db *lite) walk(ctx context.Context, text string, args []any, each func(row) error) error {
	return db.query(ctx, text, args, each)
}

func (db *lite) readStmt(ctx context.Context, text string) (*sql.Stmt, error) {
	db.reading.Lock()
	defer db.reading.Unlock()
	if s, ok := db.queries[text]; ok {
		return s, nil
	}
	s, err := db.readers.PrepareContext(ctx, text)
	if err == nil {
		db.queries[text] = s
	}
	return s, err
}

func (db *lite) hold(ctx context.Context, text string, args []any, each func(row) error) error {
	return db.lease(ctx, text, args, each)
}

func (db *lite) lease(ctx context.Context, text string, args []any, each func(row) error) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return down(db.write(ctx, step{text: text, args: args, each: each}))
}

// write runs one statement on the writer, which the caller holds.
func (db *lite) write(ctx context.Context, s step) error {
	prepared, ok := db.prepared[s.text]
	if !ok {
		var err error
		if prepared, err = db.writer.PrepareContext(ctx, s.text); err != nil {
			return err
		}
		db.prepared[s.text] = prepared
	}
	if s.each == nil {
		_, err := prepared.ExecContext(ctx, s.args...)
		return err
	}
	return drainSQL(ctx, prepared, s.args, s.each)
}

func drainSQL(ctx context.Context, s *sql.Stmt, args []any, each func(row) error) error {
	result, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return drainRows(result, each)
}

func drainRows(result *sql.Rows, each func(row) error) error {
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

// apply needs no look: nobody is told of a transaction that is rolled back here.
func (db *lite) apply(ctx context.Context, _, steps []step) error {
	return db.inTransaction(ctx, func() error {
		for _, s := range steps {
			got := 0
			if s.want > 0 {
				s.each = func(row) error { got++; return nil }
			}
			if err := db.write(ctx, s); err != nil {
				return err
			}
			if got != s.want {
				return errLost
			}
		}
		return nil
	})
}

func (db *lite) transact(ctx context.Context, guards []step, decide func() ([]step, error)) error {
	return db.inTransaction(ctx, func() error {
		for _, s := range guards {
			if err := db.write(ctx, s); err != nil {
				return err
			}
		}
		writes, err := decide()
		if err != nil {
			return err
		}
		for _, s := range writes {
			if err := db.write(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// inTransaction holds the writer and takes SQLite's write lock at once: a
// transaction that starts by reading could lose it to another process.
func (db *lite) inTransaction(ctx context.Context, do func() error) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return down(err)
	}
	// Interrupted, these three would leave the one writer inside a transaction,
	// and nothing could be written any more. What stands between may be.
	whole := context.WithoutCancel(ctx)
	if err := db.write(whole, step{text: "BEGIN IMMEDIATE"}); err != nil {
		return down(err)
	}
	if err := do(); err != nil {
		return errors.Join(down(err), db.write(whole, step{text: "ROLLBACK"}))
	}
	if err := db.write(whole, step{text: "COMMIT"}); err != nil {
		// What a failed write left in the log may be found there after a crash, until
		// the next transaction has taken its place.
		_ = db.write(whole, step{text: "ROLLBACK"}) // where it has not ended by itself
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	return nil
}

func (db *lite) migrate(ctx context.Context, run func(migrator) error) error {
	return db.inTransaction(ctx, func() error { return run(liteMigrator{ctx, db.writer}) })
}

type liteMigrator struct {
	ctx  context.Context
	conn *sql.Conn
}

func (m liteMigrator) exec(text string) error {
	_, err := m.conn.ExecContext(m.ctx, text)
	return err
}

func (m liteMigrator) query(text string, each func(row) error) error {
	found, err := m.conn.QueryContext(m.ctx, sqlite.sql(text))
	if err != nil {
		return err
	}
	defer found.Close()
	for found.Next() {
		if err := each(found); err != nil {
			return err
		}
	}
	return found.Err()
}

// standalone is in the transaction: SQLite has one writer.
func (m liteMigrator) aside(text string) (changed int64, err error) {
	done, err := m.conn.ExecContext(m.ctx, text)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

func (m liteMigrator) impatient() error { return nil }
func (m liteMigrator) bar() error       { return nil }

// ready is for engine: there are tables alone.
func (db *lite) ready(context.Context) error { return nil }

// tidy has nothing to do: SQLite uses the room of a deleted row at once.
func (db *lite) tidy(context.Context) error { return nil }

func (db *lite) prepare(ctx context.Context, text string) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	s, err := db.writer.PrepareContext(ctx, text)
	if err != nil {
		return err
	}
	return s.Close()
}
