package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Failure is why a change was not written, or not known to be.
type Failure string

// The failures. The first three are lost guards: whoever wants so decides again.
const (
	FailedStale        Failure = "stale"
	FailedDuplicate    Failure = "duplicate"
	FailedInsufficient Failure = "insufficient"
	FailedFull         Failure = "queue_full"  // it was not queued, or the store was closing
	FailedLeft         Failure = "caller_left" // its caller left while it was queued
	FailedLate         Failure = "waited_too_long"
	FailedDown         Failure = "database_away"
	FailedUnknown      Failure = "unknown"
	FailedRefused      Failure = "refused" // by the database, or not sound
)

// Failures lists why changes are not written.
func Failures() []Failure {
	return []Failure{
		FailedStale, FailedDuplicate, FailedInsufficient, FailedFull, FailedLeft, FailedLate, FailedDown, FailedUnknown, FailedRefused,
	}
}

// failure says why a committer did not write a change.
func failure(err error) Failure {
	for _, is := range []struct {
		err     error
		failure Failure
	}{
		{base.ErrStale, FailedStale}, {base.ErrDuplicate, FailedDuplicate}, {base.ErrInsufficient, FailedInsufficient},
		{engine.ErrDown, FailedDown}, {base.ErrUnknown, FailedUnknown}, {engine.ErrBusy, FailedFull},
	} {
		if errors.Is(err, is.err) {
			return is.failure
		}
	}
	return FailedRefused
}

// TransactionEnd is what became of a transaction of the group commit.
type TransactionEnd string

// The ends.
const (
	Written       TransactionEnd = "written"
	RunAgain      TransactionEnd = "again"  // a change in it had lost, and the others ran again
	Halved        TransactionEnd = "halved" // a statement failed
	NotAnswered   TransactionEnd = "unknown"
	DatabaseAway  TransactionEnd = "database_away"
	ChangeRefused TransactionEnd = "refused" // of one change
)

// TransactionEnds lists the ends.
func TransactionEnds() []TransactionEnd {
	return []TransactionEnd{Written, RunAgain, Halved, NotAnswered, DatabaseAway, ChangeRefused}
}

// Meter is told how long commits take. Its functions must not block; nil ones are not called.
type Meter struct {
	// Waited: a change waited so long for its transaction to begin.
	Waited func(time.Duration)
	// Ended: a transaction of so many changes took so long. Where its answer was lost, that is
	// until it was found out what had become of it.
	Ended func(end TransactionEnd, changes int, took time.Duration)
}

// stats counts what the group commit does.
type stats struct {
	commits, changes, again, halved, unknown atomic.Int64
	tidied                                   atomic.Int64 // commits at the last Tidy
	failed                                   map[Failure]*atomic.Int64
}

func newFailed() map[Failure]*atomic.Int64 {
	failed := map[Failure]*atomic.Int64{}
	for _, f := range Failures() {
		failed[f] = &atomic.Int64{}
	}
	return failed
}

// Stats is a snapshot of the group commit's counters.
type Stats struct {
	Commits int64 // database transactions
	Changes int64 // changes written by them
	Again   int64 // transactions that were begun again, because a change in them had lost a guard
	Halved  int64 // batches whose halves ran by themselves, because a statement had failed
	Unknown int64 // transactions whose answer was lost; what became of them was found out
	Queued  int   // changes waiting now
	Failed  map[Failure]int64
	Sealed  time.Time // when this process made a block of a chain last; zero: not yet
}

// Stats returns the counters since the start.
func (s *core) Stats() Stats {
	n := Stats{
		Commits: s.stats.commits.Load(), Changes: s.stats.changes.Load(), Again: s.stats.again.Load(), Halved: s.stats.halved.Load(),
		Unknown: s.stats.unknown.Load(), Queued: len(s.queue), Failed: map[Failure]int64{}, Sealed: s.sealer.Last(),
	}
	for f, count := range s.stats.failed {
		n.Failed[f] = count.Load()
	}
	return n
}

// Pools tells how the database's connections are used. It asks the database nothing.
func (s *core) Pools() []engine.Pool { return s.DB.Pools() }

// Engine names the kind of the database: sqlite or postgres.
func (s *core) Engine() string {
	if s.DB.Dialect() == engine.PostgreSQL {
		return "postgres"
	}
	return "sqlite"
}

// Tidy frees the room of rows that left the tables they only pass through. It
// does nothing when nothing was written since the last time.
func (s *core) Tidy(ctx context.Context) error {
	commits := s.stats.commits.Load()
	if s.stats.tidied.Swap(commits) == commits {
		return nil
	}
	return s.DB.Tidy(ctx)
}
