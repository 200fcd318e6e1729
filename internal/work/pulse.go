package work

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Pulse tells which loops do not go on. It measures in its own looks and not by a clock: a process
// that was stopped for an hour finds its loops where it left them.
type Pulse struct {
	mu    sync.Mutex // guards what follows
	beats []*beat
	stuck []string // as the last look found
}

// beat is what one loop is at. The mutex of its Pulse owns it.
type beat struct {
	name     string
	patience int
	inside   bool // of Do or Next
	looks    int  // so often it was found there, at the same one
}

// NewPulse returns one that feels no loop yet.
func NewPulse() *Pulse { return &Pulse{} }

// Of returns the loop as it is felt.
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

// enter notes that a loop begins something, and returns what notes its end.
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

// Feel looks at all loops, and returns those that it found so many times in a row at the same thing:
// so many times more those that have patience.
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

// Stuck returns what the last look found.
func (p *Pulse) Stuck() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.stuck)
}
