package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/jackc/pgx/v5/pgconn"
)

// An outage passes, and whoever asked may ask again. A statement that the database refuses is a fault of ours.
func TestOutagesAreTold(t *testing.T) {
	code := func(code string) error { return fmt.Errorf("commit: %w", &pgconn.PgError{Code: code}) }
	for _, c := range []struct {
		err                             error
		outage, locked, refused, heldUp bool
	}{
		{err: code("53100"), outage: true, heldUp: true}, // the disk is full
		{err: code("57P01"), outage: true, heldUp: true}, // it is shut down
		{err: code("57014"), outage: true},               // the statement took too long
		{err: code("58030"), outage: true, heldUp: true},
		{err: code("08006"), outage: true, heldUp: true},
		{err: code("25006"), outage: true, heldUp: true}, // a standby
		{err: code("55P03"), outage: true, locked: true}, // a lock
		{err: code("40P01"), locked: true},               // a deadlock
		{err: code("26000"), outage: true, heldUp: true}, // a pooler's other session
		{err: code("28P01"), refused: true},
		{err: code("3D000"), refused: true},
		{err: code("42P01")}, // no such table
		{err: code("23505")}, // a unique index
		{err: io.ErrUnexpectedEOF, outage: true, heldUp: true},
		{err: &net.OpError{Op: "read", Err: errors.New("reset")}, outage: true, heldUp: true},
		{err: context.DeadlineExceeded, outage: true},
		{err: errors.New("a row cannot be read")},
	} {
		if got := errors.Is(engine.Down(c.err), engine.ErrDown); got != c.outage {
			t.Errorf("%v is an outage: %v", c.err, got)
		}
		if got := engine.Down(engine.Down(c.err)); got.Error() != engine.Down(c.err).Error() || !errors.Is(got, c.err) {
			t.Errorf("%v is wrapped twice, or lost: %v", c.err, got)
		}
		if got := engine.LockTaken(c.err); got != c.locked {
			t.Errorf("%v is a lock: %v", c.err, got)
		}
		if got := engine.Refused(c.err); got != c.refused {
			t.Errorf("%v is a refused login: %v", c.err, got)
		}
		if got := errors.Is(engine.HeldUp(c.err), engine.ErrDown); got != c.heldUp {
			t.Errorf("%v holds up a migration: %v", c.err, got)
		}
	}
	if engine.Down(nil) != nil {
		t.Error("no error is one")
	}
	if !errors.Is(engine.Down(code("26000")), engine.ErrPooler) {
		t.Error("a session that is not ours does not name the pooler")
	}
}
