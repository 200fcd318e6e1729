package store

import (
	"context"
	"sync/atomic"
)

// stats counts what the group commit does.
type stats struct {
	commits, changes, again, halved, unknown atomic.Int64
	tidied                                   atomic.Int64 // commits at the last Tidy
}

// Stats is a snapshot of the group commit's counters.
type Stats struct {
	Commits int64 // database transactions
	Changes int64 // changes written by them
	Again   int64 // transactions that were begun again, because a change in them had lost a guard
	Halved  int64 // batches whose halves ran by themselves, because a statement had failed
	Unknown int64 // transactions whose answer was lost; what became of them was found out
	Queued  int   // changes waiting now
}

// Stats returns the counters since the start.
func (s *Store) Stats() Stats {
	return Stats{s.stats.commits.Load(), s.stats.changes.Load(), s.stats.again.Load(), s.stats.halved.Load(), s.stats.unknown.Load(), len(s.queue)}
}

// Tidy frees the room of rows that left the tables they only pass through. It
// does nothing when nothing was written since the last time.
func (s *Store) Tidy(ctx context.Context) error {
	commits := s.stats.commits.Load()
	if s.stats.tidied.Swap(commits) == commits {
		return nil
	}
	return s.db.tidy(ctx)
}
