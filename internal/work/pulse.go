package work

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Pulse reports which loops are stuck, and what each did. To find the stuck ones it counts its own looks instead of time,
// because a process that was paused for an hour finds its loops where it left them.
type Pulse struct {
	now   func() time.Time
	mu    sync.Mutex // guards what follows
	beats []*beat
	stuck []string // the result of the last look
}

// beat is the present activity of one loop. The mutex of its Pulse guards it.
type beat struct {
	name     string
	patience int
	inside   bool // in Do or Next
	looks    int  // how many looks found it in the same activity
	done     Done
}

// Done is what a loop did since the process began.
type Done struct {
	Loop    string
	Every   time.Duration // its longest pause
	Runs    int64         // that ended
	Failed  int64         // of these
	Began   time.Time     // of the present run; zero while the loop rests
	Last    time.Time     // when a run ended last; zero before the first
	Took    time.Duration // of that run
	Good    time.Time     // when a run ended last without an error
	Bad     time.Time     // when a run failed last
	Problem string        // of that run
}

// Failing reports whether the last run failed.
func (d Done) Failing() bool { return !d.Bad.IsZero() && d.Bad.After(d.Good) }

// NewPulse returns a pulse without loops. now is the clock for the times in Done.
func NewPulse(now func() time.Time) *Pulse { return &Pulse{now: now} }

// Of returns the loop with calls to the pulse.
func (p *Pulse) Of(l Loop) Loop {
	b := &beat{name: l.Name, patience: max(l.Patience, 1), done: Done{Loop: l.Name, Every: l.Every}}
	p.mu.Lock()
	p.beats = append(p.beats, b)
	p.mu.Unlock()
	do, next := l.Do, l.Next
	l.Do = func(ctx context.Context) (n int, err error) {
		defer p.enter(b)()
		ended := p.run(b)
		defer func() { ended(ctx, err) }()
		return do(ctx)
	}
	if next != nil {
		l.Next = func(ctx context.Context) (time.Time, error) {
			defer p.enter(b)()
			return next(ctx)
		}
	}
	return l
}

// enter records that a loop begins an activity; leave records its end.
func (p *Pulse) enter(b *beat) (leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.inside, b.looks = true, 0
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		b.inside = false
	}
}

// run records that a run begins; ended records its end. A run that the end of its loop cut short counts as none.
func (p *Pulse) run(b *beat) (ended func(context.Context, error)) {
	began := p.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	b.done.Began = began
	return func(ctx context.Context, err error) {
		now := p.now()
		p.mu.Lock()
		defer p.mu.Unlock()
		d := &b.done
		d.Began = time.Time{}
		if ctx.Err() != nil {
			return
		}
		d.Runs, d.Last, d.Took = d.Runs+1, now, now.Sub(began)
		if err == nil {
			d.Good = now
			return
		}
		d.Failed, d.Bad, d.Problem = d.Failed+1, now, err.Error()
	}
}

// Done returns what each loop did, in the order in which they were added.
func (p *Pulse) Done() (list []Done) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.beats {
		list = append(list, b.done)
	}
	return list
}

// Feel looks at all loops, and returns those that were in the same activity at this many looks in a
// row; a loop's Patience multiplies the number.
func (p *Pulse) Feel(most int) (stuck []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.beats {
		if !b.inside {
			continue
		}
		if b.looks++; b.looks >= most*b.patience {
			stuck = append(stuck, b.name)
		}
	}
	p.stuck = stuck
	return slices.Clone(stuck)
}

// Stuck returns the result of the last look.
func (p *Pulse) Stuck() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.stuck)
}
