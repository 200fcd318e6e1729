package work

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Pulse reports which loops are stuck. It counts its own looks instead of time, because a
// process that was paused for an hour finds its loops where it left them.
type Pulse struct {
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
}

// NewPulse returns one without loops.
func NewPulse() *Pulse { return &Pulse{} }

// Of returns the loop with calls to the pulse.
func (p *Pulse) Of(l Loop) Loop {
	b := &beat{name: l.Name, patience: max(l.Patience, 1)}
	p.mu.Lock()
	p.beats = append(p.beats, b)
	p.mu.Unlock()
	do, next := l.Do, l.Next
	l.Do = func(ctx context.Context) (int, error) {
		defer p.enter(b)()
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

// Feel looks at all loops, and returns those that it found most times in a row in the same
// activity; a loop's Patience multiplies that.
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
