package store

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/store/chain"
	"github.com/cascadapay/cascada/internal/store/check"
	"github.com/cascadapay/cascada/internal/store/due"
	"github.com/cascadapay/cascada/internal/store/payments"
)

// OldestDue returns the earliest due time of each kind of work; zero where nothing waits. Work that waits
// for a test clock does not count.
func (co *core) OldestDue(ctx context.Context) (map[string]time.Time, error) {
	return due.Oldest(ctx, co.b)
}

// NextDue returns when the next row of each kind of work comes due, in the service's clock; kinds without
// waiting work are missing. Parked deliveries are a kind that is always due, since they wait for endpoints.
// It takes one statement, or two if a test clock was moved, and reads the first row of each index. Callers at the same
// time share the answer: it must not be changed.
func (co *core) NextDue(ctx context.Context) (map[string]time.Time, error) {
	return co.nextDue.get(ctx, func(ctx context.Context) (map[string]time.Time, error) {
		reading, stop := context.WithCancel(co.life) // the read serves several callers, so it ends with none of them and is in no caller's trace
		defer stop()
		defer context.AfterFunc(ctx, stop)()
		return due.Next(reading, co.b)
	})
}

// sharedRead is a read that callers at the same time share. Loops ask together, when the service starts and when many of them
// have done their work, and planning the statement takes PostgreSQL longer than anything else that they do then.
type sharedRead[T any] struct {
	mu   sync.Mutex // owns next
	next *answer[T] // begins when turn is free; nil if nobody waits for it
	turn chan struct{}
}

func newLook[T any]() *sharedRead[T] { return &sharedRead[T]{turn: make(chan struct{}, 1)} }

type answer[T any] struct {
	done  chan struct{}
	left  bool // the caller that should have read has gone without an answer: the others ask again
	value T
	err   error
}

// get returns what read returns. Whoever asks while it reads waits for the next one, which begins afterwards: nobody
// misses what was written before the call. One of the callers reads for all, but only as long as it waits itself.
func (sr *sharedRead[T]) get(ctx context.Context, read func(context.Context) (T, error)) (value T, err error) {
	for {
		sr.mu.Lock()
		a, first := sr.next, sr.next == nil
		if first {
			a = &answer[T]{done: make(chan struct{}), left: true}
			sr.next = a
		}
		sr.mu.Unlock()
		if first {
			sr.lead(ctx, a, read)
		}
		select {
		case <-a.done:
			if !a.left {
				return a.value, a.err
			}
			if ctx.Err() != nil {
				return value, context.Cause(ctx)
			}
		case <-ctx.Done():
			return value, context.Cause(ctx)
		}
	}
}

// lead waits for the turn and reads. It lets the others know however it ends, also by a panic.
func (sr *sharedRead[T]) lead(ctx context.Context, a *answer[T], read func(context.Context) (T, error)) {
	defer close(a.done)
	mine := false
	select {
	case sr.turn <- struct{}{}:
		mine = true
		defer func() { <-sr.turn }()
	case <-ctx.Done():
	}
	sr.mu.Lock()
	sr.next = nil
	sr.mu.Unlock()
	if mine {
		a.value, a.err = read(ctx)
		a.left = ctx.Err() != nil
	}
}

// OldestOpen returns when the oldest open object of each kind was opened; zero for none.
func (co *core) OldestOpen(ctx context.Context) (map[string]time.Time, error) {
	return due.OldestOpen(ctx, co.b)
}

// Quarantine reads the quarantined rows of due work, of all tenants.
func (co *core) Quarantine(ctx context.Context) ([]due.Quarantined, error) {
	return due.Quarantine(ctx, co.b)
}

// OpenKinds lists the kinds of objects in OldestOpen.
func OpenKinds() []string { return due.OpenKinds() }

// WorkKinds lists the kinds of due work in OldestDue.
func WorkKinds() []string { return due.WorkKinds() }

// Kinds of due work that share a loop with another, or that a loop gathers for a while. ParkedWork is none of OldestDue.
const (
	PendingWork    = payments.PendingWork
	ProcessingWork = payments.ProcessingWork
	EndedWork      = payments.EndedWork
	ParkedWork     = due.ParkedWork
	SealWork       = chain.SealWork
	FactsWork      = payments.FactsWork
	LinkUsesWork   = payments.UsesWork
)

// CheckOptions say how much a check proves, and who receives its progress.
type CheckOptions = check.Options

// OpenReader connects to a database read-only, over a few connections of its own: see check.OpenReader.
func OpenReader(ctx context.Context, database string, more fs.FS) (*Reader, error) {
	return check.OpenReader(ctx, database, more)
}
