package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/store"
)

// faults are the faults between the nodes and the database. Each happens once in so many
// trips; 0 is never. The seed chooses them for a whole world, so that a world has many faults
// now and then, or one fault often.
type faults struct {
	w *world

	lost    int // a commit is applied and its reply lost
	late    int // a commit fails for its caller and is applied later
	refused int // a commit is not applied
	slow    int // a commit is slow
	hung    int // a commit gets no answer until it is given up
	broken  int // a read or a lease fails, the lease sometimes after it was written
	stall   int // the node stops for a while before it hears of a commit
	die     int // the node dies before or after a commit
	deaf    int // the node stops for a while before it hears an answer
	away    time.Time
}

// errReset is the error of a broken connection. It does not say whether a commit was
// applied.
var errReset = errors.New("read: connection reset by peer")

// rates are the frequencies of a fault, in worlds that have it.
var all = []int{150, 40, 12}

// choose picks the faults of a world.
func (w *world) choose() *faults {
	f := &faults{w: w}
	c := w.turns
	for _, each := range []*int{&f.lost, &f.late, &f.refused, &f.slow, &f.hung, &f.broken, &f.stall, &f.die} {
		if c.one(3) {
			*each = all[c.chance.IntN(len(all))]
		}
	}
	if c.one(3) { // there are fewer calls than commits
		f.deaf = 2 + c.chance.IntN(12)
	}
	return f
}

// trip makes one trip to the database. Its caller has the turn.
func (f *faults) trip(ctx context.Context, n *node, t store.Trip, key string, run func(context.Context) error) error {
	whole := context.WithoutCancel(ctx) // SQLite commits at once, even if the caller's time is over
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if time.Now().Before(f.away) {
		f.w.count("trips while the database was away")
		return fmt.Errorf("%w: %w", store.ErrDown, errReset)
	}
	switch t.Kind {
	case store.TripRead:
		if f.w.turns.luck(key, f.broken*10) {
			f.w.count("reads failed")
			return errReset
		}
	case store.TripLease:
		if f.w.turns.luck(key, f.broken) {
			f.w.count("leases failed")
			if f.w.turns.luck("after "+key, 2) {
				_ = run(whole) // the rows are leased to nobody
			}
			return errReset
		}
	case store.TripCommit:
		return f.commit(ctx, whole, n, key, run)
	}
	return run(whole)
}

func (f *faults) commit(ctx, whole context.Context, n *node, key string, run func(context.Context) error) error {
	c := f.w.turns
	// A commit takes time, in which others queue for the next one.
	if err := f.pass(ctx, c.between(200*time.Microsecond, 15*time.Millisecond)); err != nil {
		return err
	}
	c.turn("commits " + key)
	switch {
	case n.isDead():
		return errDead
	case n != f.w.office && c.one(f.stall):
		f.w.count("nodes stalled after a commit")
		n.pause(c.between(5*time.Second, 3*time.Minute))
	case n != f.w.office && c.one(f.die):
		f.w.count("nodes killed in a commit")
		if c.one(2) {
			_ = run(whole)
		}
		n.crash()
		f.w.revive()
		return errDead
	case c.one(f.lost):
		f.w.count("commits lost")
		if err := run(whole); err != nil {
			return err
		}
		return errReset
	case c.one(f.late):
		f.w.count("commits late")
		wait := c.between(0, 20*time.Second)
		f.w.aside.Go(func() {
			time.Sleep(wait)
			c.turn("late " + key)
			_ = run(whole)
		})
		return errReset
	case c.one(f.refused):
		f.w.count("commits refused")
		return store.ErrRefused
	case c.one(f.slow):
		f.w.count("commits slow")
		if err := f.pass(ctx, c.between(10*time.Millisecond, 8*time.Second)); err != nil {
			return err
		}
		c.turn("slow " + key)
	case c.one(f.hung):
		f.w.count("commits hung")
		applied := c.one(2)
		if applied {
			if err := run(whole); err != nil {
				return err
			}
		}
		_ = f.pass(ctx, givenUp) // a caller with less patience returns earlier
		return context.DeadlineExceeded
	}
	return run(whole)
}

// givenUp is when a node gives up a transaction that gets no answer.
const givenUp = 5 * time.Second

// pass lets time pass, while the caller waits.
func (f *faults) pass(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hears sometimes pauses a node before it hears the answer to a call with this key. The
// caller has the turn.
func (f *faults) hears(n *node, key string) error {
	if n != f.w.office && f.w.turns.one(f.deaf) {
		f.w.count("nodes stalled before an answer")
		n.pause(f.w.turns.between(5*time.Second, 3*time.Minute))
	}
	return n.goesOn("hears " + key)
}

// heal ends all faults.
func (f *faults) heal() { *f = faults{w: f.w} }
