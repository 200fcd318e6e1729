package base

import (
	"context"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/work"
)

// Woken is a loop that sleeps until something comes due.
func (b *Base) Woken(name string, do func(context.Context) (int, error)) work.Loop {
	return RowByRow(work.Loop{Name: name, Every: max(longRest, b.Look), Do: do, Alarm: b.Alarms[name], Next: b.next(name), Now: b.Now})
}

// RowByRow allows a loop more time, because it makes a commit or a call for each of many rows.
func RowByRow(l work.Loop) work.Loop {
	l.Patience = 10
	return l
}

// TableByTable allows a loop the most time, because it reads whole tables.
func TableByTable(l work.Loop) work.Loop {
	l.Patience = 60
	return l
}

// Swept is a woken loop that leases up to SweepBatch rows at a time and hands them to lanes.
func (b *Base) Swept(name string, look func(context.Context, *sync.WaitGroup) (int, error)) work.Loop {
	l := b.Woken(name, UnlessShut(b, going(look)))
	l.Batch = SweepBatch
	return l
}

// Polled is a loop that checks for what other nodes wrote, or that rarely has something to do.
func (b *Base) Polled(name string, every time.Duration, do func(context.Context) error) work.Loop {
	return work.Loop{Name: name, Every: max(every, b.Look), Do: func(ctx context.Context) (int, error) { return 0, do(ctx) }}
}

// longestRest limits a rest, in case the database was slow once.
const longestRest = time.Second

// Rest leaves the database to others between two steps of long work, until the context ends at most.
func Rest(ctx context.Context, pause time.Duration) {
	over := time.NewTimer(min(pause, longestRest))
	defer over.Stop()
	select {
	case <-over.C:
	case <-ctx.Done():
	}
}

// SweepBatch is the most due rows of one look.
const SweepBatch = 200

// Waiting runs a look for due work and waits until that work is done.
func Waiting(ctx context.Context, look func(context.Context, *sync.WaitGroup) (int, error)) (int, error) {
	var begun sync.WaitGroup
	n, err := look(ctx, &begun)
	begun.Wait()
	return n, err
}

// going runs a look for due work and leaves the work to its lanes, so that slow work does not delay
// the next look.
func going(look func(context.Context, *sync.WaitGroup) (int, error)) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		// Work under way ends after the loop does: Close waits for the lanes.
		return look(context.WithoutCancel(ctx), &sync.WaitGroup{})
	}
}
