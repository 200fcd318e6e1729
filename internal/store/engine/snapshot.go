package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Asking runs a reading statement in a snapshot and calls each for every row.
type Asking func(text string, args []any, each func(Row) error) error

// Lookups says how a snapshot's statements find rows.
type Lookups bool

const (
	ByAnyPlan Lookups = false // the planner decides
	ByIndex   Lookups = true  // no plan may scan a whole table
)

// beginSnapshot opens a read-only transaction that sees one moment. Plans use the actual argument values: a
// generic plan overestimates a part of a table.
const beginSnapshot = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan`

// onlyLookups are the settings for ByIndex.
const onlyLookups = `; SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off`

// Snapshot implements DB.
func (pg *Postgres) Snapshot(ctx context.Context, how Lookups, read func(Asking) error) error {
	pools := pg.Connected.Load()
	ctx, done := pools.bound(ctx, queryTimeout)
	defer done()
	conn, err := pg.acquire(ctx, pools.readers)
	if err != nil {
		return err
	}
	defer conn.Release()
	return pgSnapshot(ctx, conn, how, read)
}

func pgSnapshot(ctx context.Context, conn *pgxpool.Conn, how Lookups, read func(Asking) error) error {
	begin := beginSnapshot
	if how == ByIndex {
		begin += onlyLookups
	}
	if _, err := conn.Exec(ctx, begin, pgx.QueryExecModeSimpleProtocol); err != nil {
		return errors.Join(Down(err), rollback(ctx, conn))
	}
	err := read(func(text string, args []any, each func(Row) error) error {
		result, err := conn.Query(ctx, text, args...)
		if err != nil {
			return err
		}
		return Drain(result, each)
	})
	return errors.Join(Down(err), rollback(ctx, conn))
}

// Snapshot implements DB.
func (l *Lite) Snapshot(ctx context.Context, _ Lookups, read func(Asking) error) error {
	if l.readers == nil { // keeps others off the one connection
		l.mu.Lock()
		defer l.mu.Unlock()
		return read(func(text string, args []any, each func(Row) error) error {
			if each == nil {
				each = func(Row) error { return nil }
			}
			return Down(l.write(ctx, Step{Text: text, Args: args, Each: each}))
		})
	}
	return liteSnapshot(ctx, l.readers, read)
}

// liteSnapshot reads over one connection in one transaction, which begins with its first statement.
func liteSnapshot(ctx context.Context, readers *sql.DB, read func(Asking) error) error {
	conn, err := readers.Conn(ctx)
	if err != nil {
		return Down(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
		return Down(err)
	}
	err = read(func(text string, args []any, each func(Row) error) error {
		result, err := conn.QueryContext(ctx, text, args...)
		if err != nil {
			return err
		}
		return drainRows(result, each)
	})
	_, ended := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // or the connection keeps its snapshot
	return errors.Join(Down(err), ended)
}

// How long a snapshot is retried. A standby ends a statement that blocks its replay.
const (
	SnapshotTries = 20
	SnapshotPause = 500 * time.Millisecond
)

// spoilt are the codes for ends of a snapshot that a retry may avoid: recovery conflicts on a standby, and
// servers that stop or start.
var spoilt = []string{"40001", "40P01", "57P", "08"}

// begunAnew reports whether a failed snapshot is worth a retry.
func begunAnew(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		for _, code := range spoilt {
			if strings.HasPrefix(e.Code, code) {
				return true
			}
		}
		return false
	}
	if e, ok := errors.AsType[*modernc.Error](err); ok {
		return e.Code()&0xff == sqlite3.SQLITE_BUSY
	}
	return errors.Is(err, ErrDown)
}

// Persistently reads a snapshot, and retries when others end it. read starts from scratch each time.
func Persistently(ctx context.Context, pause time.Duration, snapshot func(read func(Asking) error) error, read func(Asking) error) error {
	for try := 1; ; try++ {
		err := snapshot(read)
		if err == nil || ctx.Err() != nil || !begunAnew(err) {
			return err
		}
		if try == SnapshotTries || !Rest(pause, ctx.Done()) {
			return fmt.Errorf("after %d tries: %w", try, err)
		}
	}
}
