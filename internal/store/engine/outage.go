package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Codes of PostgreSQL that say of a step that somebody else was faster: a text is no number,
// which GuardLost is not; of two that wait for each other one is ended.
const (
	noNumber = "22P02"
	deadlock = "40P01"
)

// What else PostgreSQL says of a statement.
const (
	lockNotAvailable = "55P03" // it did not want to wait for a lock
	tookTooLong      = "57014" // a timeout ended it, or a person
)

// LockTaken reports whether a statement failed for a lock alone: it may be tried again.
func LockTaken(err error) bool {
	e, refused := errors.AsType[*pgconn.PgError](err)
	return refused && (e.Code == lockNotAvailable || e.Code == deadlock)
}

// HeldUp tells a server that went away, or takes no writes now, from a migration that it refuses: that is
// tried again when it is back, and so is no reason to end. What waited in vain for a lock, or took too long, is.
func HeldUp(err error) error {
	if e, answered := errors.AsType[*pgconn.PgError](err); answered && (e.Code == lockNotAvailable || e.Code == tookTooLong) {
		return err
	}
	if _, ours := errors.AsType[*modernc.Error](err); ours || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return Down(err)
}

// MayNotWrite reports whether SQLite may not write to the file or beside it.
func MayNotWrite(err error) bool {
	e, ok := errors.AsType[*modernc.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_READONLY
}

// outages are the codes of PostgreSQL, or the classes they begin with, that say nothing
// of a statement itself: resources are short (53: the disk is full, too many
// connections), somebody intervened (57: a timeout, a shutdown), the system failed (58), a lock
// was not to be had, the server takes no writes.
var outages = []string{"53", "57", "58", "08", lockNotAvailable, "25006"}

// strays are the codes for a prepared statement that is not there, or is there although this connection
// did not prepare it: a pooler gave it another's session. Nothing was done.
var strays = []string{"26000", "42P05"}

// stray reports whether a connection has another's session.
func stray(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(strays, e.Code)
}

// liteOutages are the same of SQLite.
var liteOutages = []int{
	sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY,
	sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT,
}

// Down tells an outage, which is nobody's fault and over some time, from a statement
// that the database refuses. It is ErrDown then, with what went wrong.
func Down(err error) error {
	if err == nil || errors.Is(err, ErrDown) {
		return err
	}
	isOutage := false
	if stray(err) {
		return fmt.Errorf("%w: %w: %w", ErrDown, ErrPooler, err)
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		isOutage = slices.ContainsFunc(outages, func(code string) bool { return strings.HasPrefix(e.Code, code) })
	} else if e, ok := errors.AsType[*modernc.Error](err); ok {
		isOutage = slices.Contains(liteOutages, e.Code()&0xff)
	} else if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		isOutage = true
	} else {
		isOutage = errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) || pgconn.SafeToRetry(err) || broken(err)
	}
	if !isOutage {
		return err
	}
	return fmt.Errorf("%w: %w", ErrDown, err)
}

// refusals are codes of PostgreSQL, or their classes, that say that the address is wrong: the name,
// the password, the database.
var refusals = []string{"28", "3D000", "42501"}

// Refused reports whether a server answered that it lets nobody in with this address.
func Refused(err error) bool {
	e, answered := errors.AsType[*pgconn.PgError](err)
	return answered && slices.ContainsFunc(refusals, func(code string) bool { return strings.HasPrefix(e.Code, code) })
}

// broken reports whether a connection ended.
func broken(err error) bool {
	_, network := errors.AsType[*net.OpError](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed)
}

// warning is the code of a warning that has none of its own.
const warning = "01000"

// warnedKey marks a connection on which the server gave a warning.
const warnedKey = "warned"

// noteWarning keeps that the server warned. In a commit that means that it gave up
// waiting for its standby: what was written is there now, and may be lost with this
// server.
func noteWarning(conn *pgconn.PgConn, n *pgconn.Notice) {
	if n.Code == warning {
		conn.CustomData()[warnedKey] = true
	}
}

// warned reports whether the server warned since the last time.
func warned(conn *pgxpool.Conn) bool {
	data := conn.Conn().PgConn().CustomData()
	_, did := data[warnedKey]
	delete(data, warnedKey)
	return did
}

// ErrDown: the database cannot be reached now, or does not answer. Nothing was
// written.
var ErrDown error = problem.New(problem.ServiceUnavailable, "the database cannot be reached: retry with backoff")

// Rest pauses; false when that ends before.
func Rest(pause time.Duration, end <-chan struct{}) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-end:
		return false
	}
}

// ErrBusy: the queue of changes is full, or the store is closing. Nothing
// was written.
var ErrBusy error = problem.New(problem.ServiceUnavailable, "the service is busy: retry with backoff")
