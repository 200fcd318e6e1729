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

// RowByRow is a loop whose look makes a commit or a call for each of many rows: it may take
// longer than one that asks a question.
func RowByRow(l work.Loop) work.Loop {
	l.Patience = 10
	return l
}

// TableByTable is a loop that goes through whole tables: it may take longest.
func TableByTable(l work.Loop) work.Loop {
	l.Patience = 60
	return l
}

// Swept is a woken loop that takes SweepBatch at a time, and leaves it to lanes.
func (b *Base) Swept(name string, look func(context.Context, *sync.WaitGroup) (int, error)) work.Loop {
	l := b.Woken(name, UnlessShut(b, going(look)))
	l.Batch = SweepBatch
	return l
}

// Polled is a loop that looks for what others wrote, or that only now and then has
// something to do.
func (b *Base) Polled(name string, every time.Duration, do func(context.Context) error) work.Loop {
	return work.Loop{Name: name, Every: max(every, b.Look), Do: func(ctx context.Context) (int, error) { return 0, do(ctx) }}
}

// SweepBatch is how much due work one look takes.
const SweepBatch = 200

// Waiting runs a look for due work and waits for what it has begun.
func Waiting(ctx context.Context, look func(context.Context, *sync.WaitGroup) (int, error)) (int, error) {
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
