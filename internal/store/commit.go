package store

import (
	"context"
	"fmt"
	"github.com/cascadapay/cascada/internal/store/claims"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/cascadapay/cascada/internal/trace"
)

const (
	queueLimit = 4096 // waiting changes; further ones are refused with engine.ErrBusy
	batchLimit = 500  // changes in one transaction
	crowd      = 32   // waiting changes from which a second transaction runs beside the first
	// commitPatience is how long changes wait for the running transaction when a second could start.
	commitPatience = 250 * time.Millisecond
	// commitWait is how long a caller waits for its change: a little less than the caller's own deadline.
	commitWait = 8 * time.Second
)

// waiting is a change in the queue.
type waiting struct {
	change *pay.Change
	kinds  table.KindSet // of its rows
	guards []string      // ids that must be won
	since  time.Time     // when it was queued; zero once a committer took it
	stage  atomic.Int32
	done   chan error // buffers one, so that the committer never blocks
	span   *trace.Span
}

func newWaiting(change *pay.Change) *waiting {
	w := &waiting{change: change, since: time.Now(), done: make(chan error, 1)}
	w.kinds = table.Touched(written, change)
	w.guards = guardedIDs(change, w.kinds)
	return w
}

// The stages of a change. Its caller and a committer move it between stages with compare-and-swap: a change
// whose caller has left is never written.
const (
	queued  int32 = iota // not sent to the database, or proved not to be written
	writing              // a committer is sending it
	told                 // a committer has its result
	left                 // its caller no longer waits: it will not be written
)

// Commit writes a change, all of it or nothing, and returns when it is durable. Nothing else decides what a
// row says. The only other writes are leases, rows derived from Commit's rows (seals, rolled-up counters),
// and what a start needs once (ids of rails).
//
// Concurrent changes are written together: a committer takes all waiting changes, writes them in one
// transaction, and looks again. There is no timer.
//
// Errors: ErrStale, ErrDuplicate, ErrInsufficient when a guard is lost; engine.ErrBusy when the queue is
// full, or the caller left or waited too long before the write began; engine.ErrDown when the database
// cannot be reached. After any error except ErrUnknown nothing was written, and nothing will be. After
// ErrUnknown the caller must not decide again.
func (co *core) Commit(ctx context.Context, change pay.Change) error {
	for _, t := range change.Transfers {
		if err := t.Check(); err != nil {
			return co.failed(FailedRefused, err)
		}
	}
	change.EndUses()
	if co.away.Load() {
		return co.failed(FailedDown, engine.ErrDown)
	}
	w := newWaiting(&change)
	// Here, before the queue, where nobody else waits for it.
	change.Files = slices.Clone(change.Files)
	for i := range change.Files {
		change.Files[i].Stored = claims.EncryptFile(co.b.Personal, &change.Files[i])
	}
	_, span := co.tracer.Start(ctx, "commit", trace.Internal)
	defer span.End()
	about(span, w.change)
	w.span = span
	if id := repeated(w.guards); id != "" {
		span.Fail(string(FailedRefused))
		return co.failed(FailedRefused, fmt.Errorf("a change guards %s twice: whether one of the two is lost could not be told", id))
	}
	if err := co.enqueue(w); err != nil {
		span.Fail(string(FailedFull))
		return co.failed(FailedFull, err)
	}
	if why, err := w.wait(ctx); err != nil {
		span.Fail(string(why))
		return co.failed(why, err)
	}
	return nil
}

// repeated returns an id that is there twice, "" for none.
func repeated(ids []string) string {
	if len(ids) > 8 {
		ids = slices.Sorted(slices.Values(ids))
		for i := range len(ids) - 1 {
			if ids[i] == ids[i+1] {
				return ids[i]
			}
		}
		return ""
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			return id
		}
	}
	return ""
}

// failed counts an unwritten change.
func (co *core) failed(why Failure, err error) error {
	co.stats.failed[why].Add(1)
	return err
}

// wait returns when a change is decided, or its caller gives up.
func (wa *waiting) wait(ctx context.Context) (Failure, error) {
	patience := time.NewTimer(commitWait)
	defer patience.Stop()
	select {
	case err := <-wa.done:
		return failure(err), err
	case <-ctx.Done():
		if wa.stage.CompareAndSwap(queued, left) {
			return FailedLeft, fmt.Errorf("%w: %w", engine.ErrBusy, ctx.Err())
		}
	case <-patience.C:
		return wa.leave()
	}
	select { // already being written: takes no longer than a transaction
	case err := <-wa.done:
		return failure(err), err
	case <-patience.C:
		return wa.leave()
	}
}

// leave gives a change up and returns what is known of it.
func (wa *waiting) leave() (Failure, error) {
	for { // a committer may take it or give it back in between
		switch {
		case wa.stage.CompareAndSwap(queued, left):
			return FailedLate, engine.ErrBusy
		case wa.stage.CompareAndSwap(writing, left):
			return FailedUnknown, base.ErrUnknown
		case wa.stage.Load() == told:
			err := <-wa.done
			return failure(err), err
		}
	}
}

// begin takes a change for writing; false if its caller has left.
func (wa *waiting) begin() bool { return wa.stage.CompareAndSwap(queued, writing) }

// release gives back a change that was proved not to be written.
func (wa *waiting) release() { wa.stage.CompareAndSwap(writing, queued) }

// answer answers the caller if it still waits.
func (wa *waiting) answer(err error) {
	if wa.stage.CompareAndSwap(writing, told) || wa.stage.CompareAndSwap(queued, told) {
		wa.done <- err
	}
}

func (co *core) enqueue(w *waiting) error {
	co.gate.RLock()
	defer co.gate.RUnlock()
	if co.closed {
		return engine.ErrBusy
	}
	select {
	case co.queue <- w:
	default:
		return engine.ErrBusy
	}
	if len(co.queue) >= crowd-1 {
		select {
		case co.crowded <- struct{}{}:
		default:
		}
	}
	return nil
}

// commitLoop writes batches until the store closes and the queue is empty, one per committer at a time. A
// second batch starts beside the first only when a crowd waits: two small transactions cost the database
// more than one large one, and block each other if they move the same balance. With a crowd, the second
// uses the time in which the first waits for the disk. Nor does anybody wait long behind a batch that is
// blocked by another node's lock.
func (co *core) commitLoop(committers []*committer) {
	var held []*waiting // held back from the last batch
	most := len(committers)
	idle := slices.Clone(committers)
	landed := make(chan *committer, most)
	for {
		batch := held
		if len(batch) == 0 {
			w, open := <-co.queue
			if !open {
				break
			}
			batch = append(batch, w)
		}
		var overdue <-chan time.Time
		for late := false; len(idle) < most && (len(idle) == 0 || !late && len(batch)+len(co.queue) < crowd); {
			if len(idle) > 0 && overdue == nil {
				overdue = time.After(commitPatience)
			}
			select {
			case c := <-landed:
				idle = append(idle, c)
			case <-co.crowded:
			case <-overdue:
				late = true
			}
		}
		batch, held = co.part(co.fill(batch))
		c := idle[len(idle)-1]
		idle = idle[:len(idle)-1]
		go func() {
			c.flush(batch)
			landed <- c
		}()
	}
	for range most - len(idle) {
		<-landed
	}
}

// fill adds waiting changes without blocking. Held changes use nobody's place.
func (co *core) fill(batch []*waiting) []*waiting {
	for range batchLimit - 1 {
		select {
		case w, open := <-co.queue:
			if !open {
				return batch
			}
			batch = append(batch, w)
		default:
			return batch
		}
	}
	return batch
}
