package engine

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

	modernc "modernc.org/sqlite" // also registers the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Lite is SQLite: one connection that writes, and a few that read concurrently (write-ahead log). In memory
// there is only the one.
type Lite struct {
	readers *sql.DB // nil: the writer also reads
	writers *sql.DB // holds the one writer

	mu       countedMutex // held while the writer is in use
	writer   *sql.Conn
	prepared map[string]*sql.Stmt // on the writer

	reading sync.Mutex // owns queries
	queries map[string]*sql.Stmt

	path   string
	lock   *os.File    // held by the process that serves the file, else nil; owned by mu
	locked atomic.Bool // lock is held
}

const (
	liteReaders = 4
	// Tries to open a file, and the pause between them, while another process opens it.
	openTries = 200
	openPause = 50 * time.Millisecond
)

func openSQLite(ctx context.Context, path string) (*Lite, error) {
	if err := privateFile(path); err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	writers, err := sql.Open("sqlite", SQLiteDSN(path,
		"journal_mode(WAL)", "synchronous(FULL)", "busy_timeout(10000)",
		// The write path's working set stays in memory, and one checkpoint serves many commits: measured,
		// half as fast again. A larger cache would slow commits: after a page split, the commit scans the
		// whole cache.
		"cache_size(-16384)", "wal_autocheckpoint(10000)",
		// A statement with many rows can be undone by itself; its undo data need not go to disk.
		"temp_store(MEMORY)"))
	if err != nil {
		return nil, fmt.Errorf("open sqlite: %w", err)
	}
	writer, err := firstConn(ctx, writers)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite %s: %w", path, err), writers.Close())
	}
	readers, err := sql.Open("sqlite", SQLiteDSN(path, "busy_timeout(10000)", "query_only(ON)", "cache_size(-8192)"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open sqlite: %w", err), writers.Close())
	}
	readers.SetMaxOpenConns(liteReaders)
	readers.SetMaxIdleConns(liteReaders)
	return &Lite{
		readers: readers, writers: writers, writer: writer,
		prepared: map[string]*sql.Stmt{}, queries: map[string]*sql.Stmt{}, path: path,
	}, nil
}

// privateFile creates a database's file for its owner only, unless it exists: SQLite would make it readable
// by the whole machine, and gives its log the same rights. It never opens an existing file: closing it
// would release this process's locks on it.
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

// firstConn opens the file. A file that another process is opening or closing may be locked, whatever
// busy_timeout says: SQLite does not wait while it reads the journal.
func firstConn(ctx context.Context, db *sql.DB) (*sql.Conn, error) {
	for tries := 0; ; tries++ {
		conn, err := db.Conn(ctx)
		e, busy := errors.AsType[*modernc.Error](err)
		if err == nil || !busy || e.Code()&0xff != sqlite3.SQLITE_BUSY || tries == openTries || !Rest(openPause, ctx.Done()) {
			return conn, err
		}
	}
}

// SQLiteDSN is a file's address for the driver.
func SQLiteDSN(path string, pragmas ...string) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + url.Values{"_pragma": pragmas}.Encode()
}

// Dialect implements DB.
func (l *Lite) Dialect() Dialect { return SQLite }

// Ping implements DB.
func (l *Lite) Ping(ctx context.Context) error {
	if l.readers == nil {
		return nil
	}
	return l.readers.PingContext(ctx)
}

// room is about what a batch of changes may need on the disk, in bytes.
const room = 1 << 20

// HasRoom implements DB: a small commit may fit into what the log has already, a larger one may not.
func (l *Lite) HasRoom(context.Context) error {
	if l.readers == nil {
		return nil
	}
	name := l.path + ".room"
	file, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("look for room on the disk: %w", err)
	}
	_, err = file.Write(make([]byte, room))
	return errors.Join(err, file.Sync(), file.Close(), os.Remove(name))
}

// Close implements DB.
func (l *Lite) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	// A connection with open statements does not close, and keeps its files.
	for _, s := range l.queries {
		s.Close()
	}
	for _, s := range l.prepared {
		s.Close()
	}
	if l.readers != nil {
		l.readers.Close()
	}
	l.writer.Close()
	l.writers.Close()
	if l.lock != nil {
		l.lock.Close() // this also releases the lock
	}
}

// Claim locks a file next to the database. The system releases the lock when the process ends, however it
// ends, so the holder knows that no other process is alive.
func (l *Lite) Claim() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lock != nil {
		return nil
	}
	file, err := os.OpenFile(l.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock %s: %w", l.path, err)
	}
	switch err := lockFile(file); {
	case errors.Is(err, errors.ErrUnsupported): // then leases show who is alive
		return file.Close()
	case err != nil:
		return errors.Join(fmt.Errorf("another process serves %s: an SQLite database has one service", l.path), err, file.Close())
	}
	l.lock = file
	l.locked.Store(true)
	return nil
}

// Alone implements DB.
func (l *Lite) Alone() bool { return l.locked.Load() }

// Query implements DB.
func (l *Lite) Query(ctx context.Context, text string, args []any, each func(Row) error) error {
	if l.readers == nil {
		return l.Lease(ctx, text, args, each)
	}
	s, err := l.readStmt(ctx, text)
	if err != nil {
		return err
	}
	return Down(drainSQL(ctx, s, args, each))
}

// Walk implements DB.
func (l *Lite) Walk(ctx context.Context, text string, args []any, each func(Row) error) error {
	return l.Query(ctx, text, args, each)
}

func (l *Lite) readStmt(ctx context.Context, text string) (*sql.Stmt, error) {
	l.reading.Lock()
	defer l.reading.Unlock()
	if s, ok := l.queries[text]; ok {
		return s, nil
	}
	s, err := l.readers.PrepareContext(ctx, text)
	if err == nil {
		l.queries[text] = s
	}
	return s, err
}

// Hold implements DB.
func (l *Lite) Hold(ctx context.Context, text string, args []any, each func(Row) error) error {
	return l.Lease(ctx, text, args, each)
}

// Lease implements DB.
func (l *Lite) Lease(ctx context.Context, text string, args []any, each func(Row) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Down(l.write(ctx, Step{Text: text, Args: args, Each: each}))
}

// write runs one statement on the writer. The caller holds it.
func (l *Lite) write(ctx context.Context, s Step) error {
	prepared, ok := l.prepared[s.Text]
	if !ok {
		var err error
		if prepared, err = l.writer.PrepareContext(ctx, s.Text); err != nil {
			return err
		}
		l.prepared[s.Text] = prepared
	}
	if s.Each == nil {
		_, err := prepared.ExecContext(ctx, s.Args...)
		return err
	}
	return drainSQL(ctx, prepared, s.Args, s.Each)
}

func drainSQL(ctx context.Context, s *sql.Stmt, args []any, each func(Row) error) error {
	result, err := s.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	return drainRows(result, each)
}

func drainRows(result *sql.Rows, each func(Row) error) error {
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

// Apply needs no look: a rollback here leaves no trace in any log.
func (l *Lite) Apply(ctx context.Context, _, steps []Step) error {
	return l.inTransaction(ctx, func() error {
		for _, s := range steps {
			got := 0
			if s.Want > 0 {
				s.Each = func(Row) error { got++; return nil }
			}
			if err := l.write(ctx, s); err != nil {
				return err
			}
			if got != s.Want {
				return ErrLost
			}
		}
		return nil
	})
}

// Transact implements DB.
func (l *Lite) Transact(ctx context.Context, guards []Step, decide func() ([]Step, error)) error {
	return l.inTransaction(ctx, func() error {
		for _, s := range guards {
			if err := l.write(ctx, s); err != nil {
				return err
			}
		}
		writes, err := decide()
		if err != nil {
			return err
		}
		for _, s := range writes {
			if err := l.write(ctx, s); err != nil {
				return err
			}
		}
		return nil
	})
}

// inTransaction holds the writer and takes SQLite's write lock at once: a transaction that starts with a
// read could lose it to another process.
func (l *Lite) inTransaction(ctx context.Context, do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return Down(err)
	}
	// If one of these three were interrupted, the only writer would stay inside a transaction, and nothing
	// could be written any more. The statements between them may be interrupted.
	whole := context.WithoutCancel(ctx)
	if err := l.write(whole, Step{Text: "BEGIN IMMEDIATE"}); err != nil {
		return Down(err)
	}
	if err := do(); err != nil {
		return errors.Join(Down(err), l.write(whole, Step{Text: "ROLLBACK"}))
	}
	if err := l.write(whole, Step{Text: "COMMIT"}); err != nil {
		// After a crash, a failed write's remains in the log may be found there until the next transaction
		// has overwritten them.
		_ = l.write(whole, Step{Text: "ROLLBACK"}) // if it has not ended by itself
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return nil
}

// Migrate implements DB.
func (l *Lite) Migrate(ctx context.Context, run func(Migrator) error) error {
	return l.inTransaction(ctx, func() error { return run(liteMigrator{ctx, l.writer}) })
}

type liteMigrator struct {
	ctx  context.Context
	conn *sql.Conn
}

func (m liteMigrator) Exec(text string) error {
	_, err := m.conn.ExecContext(m.ctx, text)
	return err
}

// Query implements Migrator.
func (m liteMigrator) Query(text string, each func(Row) error) error {
	found, err := m.conn.QueryContext(m.ctx, SQLite.SQL(text))
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

// Aside runs inside the transaction: SQLite has one writer.
func (m liteMigrator) Aside(text string) (changed int64, err error) {
	done, err := m.conn.ExecContext(m.ctx, text)
	if err != nil {
		return 0, err
	}
	return done.RowsAffected()
}

func (m liteMigrator) Impatient() error { return nil }
func (m liteMigrator) Bar(string) error { return nil }

// Ready implements DB: SQLite needs only tables.
func (l *Lite) Ready(context.Context) error { return nil }

// Tidy does nothing: SQLite reuses the space of deleted rows at once.
func (l *Lite) Tidy(context.Context, ...string) error { return nil }

// Prepare implements DB.
func (l *Lite) Prepare(ctx context.Context, text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, err := l.writer.PrepareContext(ctx, text)
	if err != nil {
		return err
	}
	return s.Close()
}
