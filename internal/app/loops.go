package app

import (
	"context"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/work"
)

// woken is a loop that sleeps until something comes due.
func (a *Base) woken(name string, do func(context.Context) (int, error)) work.Loop {
	return rowByRow(work.Loop{Name: name, Every: max(longRest, a.Look), Do: do, Alarm: a.alarms[name], Next: a.next(name), Now: a.Now})
}

// rowByRow is a loop whose look makes a commit or a call for each of many rows, tableByTable one
// that goes through whole tables: they may take longer than one that asks a question.
func rowByRow(l work.Loop) work.Loop {
	l.Patience = 10
	return l
}

func tableByTable(l work.Loop) work.Loop {
	l.Patience = 60
	return l
}

// swept is a woken loop that takes sweepBatch at a time, and leaves it to lanes.
func (a *Base) swept(name string, look func(context.Context, *sync.WaitGroup) (int, error)) work.Loop {
	l := a.woken(name, unlessShut(a, going(look)))
	l.Batch = sweepBatch
	return l
}

// polled is a loop that looks for what others wrote, or that only now and then has
// something to do.
func (a *Base) polled(name string, every time.Duration, do func(context.Context) error) work.Loop {
	return work.Loop{Name: name, Every: max(every, a.Look), Do: func(ctx context.Context) (int, error) { return 0, do(ctx) }}
}

const (
	sweepBatch = 200
	// sweepLease is longer than the slowest question to a provider. What waits in a lane
	// for longer is leased again, also by other nodes: asking twice is harmless.
	sweepLease = 90 * time.Second
)

// waiting runs a look for due work and waits for what it has begun.
func waiting(ctx context.Context, look func(context.Context, *sync.WaitGroup) (int, error)) (int, error) {
	var begun sync.WaitGroup
	n, err := look(ctx, &begun)
	begun.Wait()
	return n, err
}

// going runs a look for due work, and leaves what it has begun to its lanes: one that
// is slow holds up nobody's next look.
func going(look func(context.Context, *sync.WaitGroup) (int, error)) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		// Those under way end after the loop: whoever closes waits for the lanes.
		return look(context.WithoutCancel(ctx), &sync.WaitGroup{})
	}
}
