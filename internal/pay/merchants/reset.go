package merchants

import "time"

// Reset is the emptying of a merchant's sandbox (SBX-16): everything in it goes, its settings stay. It runs in
// passes over all tables, and is done when a pass finds nothing.
type Reset struct {
	Merchant  string
	Version   int64 // 0: the sandbox was never emptied
	StartedAt time.Time
	DueAt     time.Time // of the next pass, or the end of a lease on one; zero once it is done
	SweptAt   time.Time // when the last pass ended; zero before
	DoneAt    time.Time // zero while it runs
	SealedTo  int64     // the transfers that were sealed up to this block of the sandbox's chain are gone
	Deleted   int64     // rows
}

const (
	// ResetCloses is how long a reset waits before its first pass: by then every node knows that the sandbox is
	// closed, and what they had begun is written.
	ResetCloses = 15 * time.Second
	// ResetSettles is the least time between a pass that found something and the one that finds nothing: work in the
	// background that had read rows before they were deleted has ended by then.
	ResetSettles = 10 * time.Second
	// ResetLease is how long a pass belongs to one node, unless the node renews it. If the node dies, the reset waits
	// that long.
	ResetLease = 10 * time.Second
)

// Running reports whether the sandbox is being emptied.
func (r Reset) Running() bool { return r.Version > 0 && r.DoneAt.IsZero() }

// Begin starts a reset, unless one runs.
func (r Reset) Begin(now time.Time) (next Reset, begins bool) {
	if r.Running() {
		return r, false
	}
	return Reset{Merchant: r.Merchant, Version: r.Version + 1, StartedAt: now, DueAt: now.Add(ResetCloses), SealedTo: r.SealedTo}, true
}

// Lease makes the next pass a node's own.
func (r Reset) Lease(now time.Time) Reset {
	r.Version++
	r.DueAt = now.Add(ResetLease)
	return r
}

// Swept records a pass: how many rows it found, and how many it deleted. It reports whether the reset is over:
// nothing was left, for long enough.
func (r Reset) Swept(found, deleted int64, now time.Time) (next Reset, over bool) {
	over = found == 0 && !r.SweptAt.IsZero()
	r.Version++
	r.Deleted += deleted
	r.SweptAt, r.DueAt = now, now.Add(ResetSettles)
	if over {
		r.DoneAt, r.DueAt = now, time.Time{}
	}
	return r, over
}
