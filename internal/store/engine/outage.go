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

// PostgreSQL's codes for a step that lost to another transaction: a text is not a number, as with GuardLost, or
// the server ended one side of a deadlock.
const (
	noNumber = "22P02"
	deadlock = "40P01"
)

// PostgreSQL's other codes for a statement.
const (
	lockNotAvailable = "55P03" // the statement could not get a lock in time
	tookTooLong      = "57014" // a timeout or a person ended it
)

// LockTaken reports whether a statement failed only because of a lock: it may be retried.
func LockTaken(err error) bool {
	e, refused := errors.AsType[*pgconn.PgError](err)
	return refused && (e.Code == lockNotAvailable || e.Code == deadlock)
}

// HeldUp separates a server that is gone or takes no writes from a failed migration. The former is retried
// when the server is back, and is no reason to exit. A lock timeout or a slow statement is.
func HeldUp(err error) error {
	if e, answered := errors.AsType[*pgconn.PgError](err); answered && (e.Code == lockNotAvailable || e.Code == tookTooLong) {
		return err
	}
	if _, ours := errors.AsType[*modernc.Error](err); ours || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return Down(err)
}

// MayNotWrite reports whether SQLite may not write the file or next to it.
func MayNotWrite(err error) bool {
	e, ok := errors.AsType[*modernc.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_READONLY
}

// outages are PostgreSQL's codes, or their class prefixes, for failures that are not the statement's: lack
// of resources (53: disk full, too many connections), intervention (57: a timeout, a shutdown), a system
// failure (58), an unavailable lock, a server that takes no writes.
var outages = []string{"53", "57", "58", "08", lockNotAvailable, "25006"}

// strays are the codes for a missing prepared statement, or for one that this connection did not prepare: a
// pooler gave it another session. Nothing was done.
var strays = []string{"26000", "42P05"}

// stray reports whether a connection has another connection's session.
func stray(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(strays, e.Code)
}

// liteOutages are SQLite's outages.
var liteOutages = []int{
	sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY,
	sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT,
}

// Down separates an outage, which is nobody's fault and passes, from a statement that the database refuses.
// It wraps an outage in ErrDown.
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

// refusals are PostgreSQL's codes, or their classes, for a wrong address: user, password or database.
var refusals = []string{"28", "3D000", "42501"}

// Refused reports whether a server refused the login of this address.
func Refused(err error) bool {
	e, answered := errors.AsType[*pgconn.PgError](err)
	return answered && slices.ContainsFunc(refusals, func(code string) bool { return strings.HasPrefix(e.Code, code) })
}

// broken reports whether a connection ended.
func broken(err error) bool {
	_, network := errors.AsType[*net.OpError](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed)
}

// warning is the code of a warning without its own code.
const warning = "01000"

// warnedKey marks a connection on which the server warned.
const warnedKey = "warned"

// noteWarning records that the server warned. In a commit, this means that the server stopped waiting for
// its standby: the data is written, but may be lost with this server.
func noteWarning(conn *pgconn.PgConn, n *pgconn.Notice) {
	if n.Code == warning {
		conn.CustomData()[warnedKey] = true
	}
}

// warned reports whether the server warned since the last call.
func warned(conn *pgxpool.Conn) bool {
	data := conn.Conn().PgConn().CustomData()
	_, did := data[warnedKey]
	delete(data, warnedKey)
	return did
}

// ErrDown: the database cannot be reached now, or does not answer. Nothing was
// written.
var ErrDown error = problem.New(problem.ServiceUnavailable, storeDown)

// Rest pauses; it returns false if end closes first.
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
var ErrBusy error = problem.New(problem.ServiceUnavailable, storeBusy)
