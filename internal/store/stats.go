package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Failure is why a change was not written, or is not known to be written.
type Failure string

// The failures. The first three are lost guards, after which the caller may decide again.
const (
	FailedStale        Failure = "stale"
	FailedDuplicate    Failure = "duplicate"
	FailedInsufficient Failure = "insufficient"
	FailedFull         Failure = "queue_full"  // the queue was full, or the store was closing
	FailedLeft         Failure = "caller_left" // its caller left while it was queued
	FailedLate         Failure = "waited_too_long"
	FailedDown         Failure = "database_away"
	FailedUnknown      Failure = "unknown"
	FailedRefused      Failure = "refused" // by the database, or the change was invalid
)

// Failures lists all failures.
func Failures() []Failure {
	return []Failure{
		FailedStale, FailedDuplicate, FailedInsufficient, FailedFull, FailedLeft, FailedLate, FailedDown, FailedUnknown, FailedRefused,
	}
}

// failure classifies a committer's error.
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

// TransactionEnd is how a transaction of the group commit ended.
type TransactionEnd string

// The ends of transactions.
const (
	Written       TransactionEnd = "written"
	RunAgain      TransactionEnd = "again"  // a change in it lost a guard, and the others ran again
	Halved        TransactionEnd = "halved" // a statement failed
	NotAnswered   TransactionEnd = "unknown"
	DatabaseAway  TransactionEnd = "database_away"
	ChangeRefused TransactionEnd = "refused" // of one change
)

// TransactionEnds lists the ends.
func TransactionEnds() []TransactionEnd {
	return []TransactionEnd{Written, RunAgain, Halved, NotAnswered, DatabaseAway, ChangeRefused}
}

// Meter receives the durations of commits. Its functions must not block; nil ones are not called.
type Meter struct {
	// Waited reports how long a change waited for its transaction to begin.
	Waited func(time.Duration)
	// Ended reports a transaction's end, number of changes and duration. If its answer was lost, the
	// duration includes the time until its fate was found out.
	Ended func(end TransactionEnd, changes int, took time.Duration)
}

// stats counts the work of the group commit.
type stats struct {
	commits, changes, again, halved, unknown atomic.Int64
	tidied                                   atomic.Int64              // changes when Tidy last ran
	tidiedAt                                 atomic.Pointer[time.Time] // nil before its first call
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
	Again   int64 // transactions run again because a change in them lost a guard
	Halved  int64 // batches split in halves because a statement failed
	Unknown int64 // transactions whose answer was lost; their fate was found out
	Queued  int   // waiting changes
	Failed  map[Failure]int64
	Sealed  time.Time // time of this process's last block of a chain; zero if none
}

// Stats returns the counters since the start.
func (co *core) Stats() Stats {
	n := Stats{
		Commits: co.stats.commits.Load(), Changes: co.stats.changes.Load(), Again: co.stats.again.Load(), Halved: co.stats.halved.Load(),
		Unknown: co.stats.unknown.Load(), Queued: len(co.queue), Failed: map[Failure]int64{}, Sealed: co.sealer.Last(),
	}
	for f, count := range co.stats.failed {
		n.Failed[f] = count.Load()
	}
	return n
}

// Pools reports the use of the database's connections, without querying the database.
func (co *core) Pools() []engine.Pool { return co.b.DB.Pools() }

// Engine is the kind of database: sqlite or postgres.
func (co *core) Engine() string {
	if co.b.DB.Dialect() == engine.PostgreSQL {
		return "postgres"
	}
	return "sqlite"
}

// Tidy runs after tidyAfter changes, or a tidyPause after the last run if there was any. It does not run more often because
// after each run PostgreSQL plans every statement on the tables anew.
const (
	tidyAfter = 200
	tidyPause = time.Minute
)

// TidyEvery is how often a node calls Tidy: under load, rows that have left their tables wait for seconds. Without enough
// changes it reads nothing.
const TidyEvery = 3 * time.Second

// passedThrough are the tables that rows only pass through: payments in flight, rows that wait for a seal, and facts.
var passedThrough = []string{"processing", "unsealed", "facts"}

// Tidy frees the space of rows that left the tables they only pass through, if enough was written since its last run.
func (co *core) Tidy(ctx context.Context, now time.Time) error {
	co.stats.tidiedAt.CompareAndSwap(nil, &now)
	changes := co.stats.changes.Load()
	written := changes - co.stats.tidied.Load()
	if written == 0 || written < tidyAfter && now.Sub(*co.stats.tidiedAt.Load()) < tidyPause {
		return nil
	}
	if err := co.b.DB.Tidy(ctx, passedThrough...); err != nil {
		return err
	}
	co.stats.tidied.Store(changes)
	co.stats.tidiedAt.Store(&now)
	return nil
}
