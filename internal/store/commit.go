package store

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

const (
	queueLimit = 4096 // changes waiting; more are refused with ErrBusy
	batchLimit = 500  // changes in one transaction
	crowd      = 32   // changes that wait before a second transaction begins beside one
	// commitTimeout is for a database that hangs. A change that is queued is
	// decided by the store, not by its caller's deadline.
	commitTimeout = 30 * time.Second
)

// waiting is a change in the queue.
type waiting struct {
	change pay.Change
	guards []string   // ids that must be won
	done   chan error // holds one, so that the committer never waits
}

// Commit writes a change, all of it or nothing, and returns when it is
// durable. Nothing else decides what a row says: beside it there are only leases,
// what is made of rows that it wrote (seals, rolled-up counters), and what a start
// needs once (signing keys, ids of rails).
//
// Concurrent changes are written together: a committer takes all that wait,
// writes them in one transaction, and looks again. There is no timer.
//
// Errors: ErrStale, ErrDuplicate, ErrInsufficient when a guard is lost,
// ErrBusy when the queue is full. After any other error, ErrDown among them, the
// caller must read to know what was written.
func (s *Store) Commit(_ context.Context, change pay.Change) error {
	for _, t := range change.Transfers {
		if err := t.Check(); err != nil {
			return err
		}
	}
	w := &waiting{change, guardedIDs(&change), make(chan error, 1)}
	if err := s.enqueue(w); err != nil {
		return err
	}
	return <-w.done
}

func (s *Store) enqueue(w *waiting) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	if s.closed {
		return ErrBusy
	}
	select {
	case s.queue <- w:
	default:
		return ErrBusy
	}
	if len(s.queue) >= crowd-1 {
		select {
		case s.crowded <- struct{}{}:
		default:
		}
	}
	return nil
}

// commitLoop writes batches until the store closes and the queue is empty, at most
// so many at a time. Another begins beside one that is under way only when a crowd
// waits: two small transactions cost the database more than one of their sum, and
// wait for each other where they move one balance. With a crowd, the second uses the
// time in which the first waits for the disk.
func (s *Store) commitLoop(most int) {
	var held []*waiting // met a change of the same row in the last batch
	flying, landed := 0, make(chan struct{}, most)
	for {
		batch := held
		if len(batch) == 0 {
			w, open := <-s.queue
			if !open {
				break
			}
			batch = append(batch, w)
		}
		for flying > 0 && (flying == most || len(batch)+len(s.queue) < crowd) {
			select {
			case <-landed:
				flying--
			case <-s.crowded:
			}
		}
		batch, held = disjoint(s.fill(batch))
		flying++
		go func() {
			s.flush(batch)
			landed <- struct{}{}
		}()
	}
	for ; flying > 0; flying-- {
		<-landed
	}
}

// fill adds what is waiting, without waiting for more.
func (s *Store) fill(batch []*waiting) []*waiting {
	for len(batch) < batchLimit {
		select {
		case w, open := <-s.queue:
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

// disjoint holds back changes of rows that an earlier change of the batch
// touches: one statement changes a row once.
func disjoint(all []*waiting) (batch, held []*waiting) {
	seen := make(map[string]struct{}, 2*len(all))
	for _, w := range all {
		clash := false
		for _, id := range w.guards {
			_, known := seen[id]
			clash = clash || known
		}
		// The ids of a held change count too, or a later one would overtake it.
		for _, id := range w.guards {
			seen[id] = struct{}{}
		}
		if clash {
			held = append(held, w)
		} else {
			batch = append(batch, w)
		}
	}
	return batch, held
}

// flush decides every change of the batch.
func (s *Store) flush(batch []*waiting) {
	for len(batch) > 0 {
		w := newWrite(s, batch)
		ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
		err := w.run(ctx)
		cancel()
		switch {
		case err == nil:
			s.stats.commits.Add(1)
			s.stats.changes.Add(int64(len(w.kept)))
			w.report()
			return
		case errors.Is(err, errRerun):
			w.reportLost()
			batch = w.kept
		case len(batch) == 1, errors.Is(err, ErrDown):
			for _, c := range batch {
				c.done <- err
			}
			return
		default:
			s.stats.alone.Add(int64(len(batch)))
			s.log.Warn("a batch of changes failed; each runs alone", "changes", len(batch), "error", err)
			for i := range batch {
				s.flush(batch[i : i+1])
			}
			return
		}
	}
}
