// Package work runs loops over due rows. It knows no domain: a loop is a
// function that takes what is due and says how much it took.
package work

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Loop does due work again and again.
type Loop struct {
	Name  string
	Every time.Duration // between looks at the longest
	// Do takes what is due and does it; it returns how many it took. The work
	// is leased, so that every node may run the loop, and doing one twice is
	// harmless.
	Do func(context.Context) (int, error)
	// Batch is how many Do takes at the most; after fewer it left nothing that was due, and
	// the loop rests. 0: it looks again at once after whatever it took.
	Batch int
	// Alarm tells the loop when to look, before Every is over; nil never does.
	Alarm *Alarm
	// Next, asked after a look that left nothing, says when the next row comes due;
	// the zero time where none waits. nil: nobody knows.
	Next func(context.Context) (time.Time, error)
	// Now is the clock of Alarm and Next.
	Now func() time.Time
	// Patience is how many times as long as others it may take for one look; 0 is 1. A batch of
	// rows takes longer than a question, and a table longer still.
	Patience int
}

// rest is the pause after a look that failed, or that left what is due to somebody
// else.
const rest = time.Second

// Run looks for work until ctx ends. After a look that may have left something it
// looks again at once; errors are logged and tried again later.
func (l Loop) Run(ctx context.Context, log *slog.Logger) {
	retry := min(rest, l.Every)
	if l.Alarm == nil { // it looks now and then, and has no hurry
		l.Alarm, retry = NewAlarm(), l.Every
	}
	for ctx.Err() == nil {
		l.Alarm.Forget() // what is set from here on is news
		n, err := l.Do(ctx)
		wait, again := l.Every, n > 0 && n >= l.Batch
		if err == nil && !again {
			wait, err = l.pause(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Error("a work loop failed; it goes on", "loop", l.Name, "error", err)
			l.sleep(ctx, retry)
		case !again:
			l.idle(ctx, wait)
		}
	}
}

// idle sleeps until there may be something to do. What it waits for may have moved on
// meanwhile: then it waits again.
func (l Loop) idle(ctx context.Context, wait time.Duration) {
	for !l.sleep(ctx, wait) && l.Next != nil && wait < l.Every {
		at, err := l.Next(ctx)
		if err != nil || !at.IsZero() && !at.After(l.Now()) {
			return
		}
		wait = l.Every
		if !at.IsZero() {
			wait = min(at.Sub(l.Now()), l.Every)
		}
	}
}

// pause is how long nothing is due, as far as Next knows.
func (l Loop) pause(ctx context.Context) (time.Duration, error) {
	if l.Next == nil {
		return l.Every, nil
	}
	at, err := l.Next(ctx)
	if err != nil || at.IsZero() {
		return l.Every, err
	}
	// What is due already, and was not taken, is somebody else's.
	return min(max(at.Sub(l.Now()), rest), l.Every), nil
}

// sleep returns after a while, or, true, when the alarm is due or ctx ends.
func (l Loop) sleep(ctx context.Context, most time.Duration) (woken bool) {
	over := time.NewTimer(most)
	defer over.Stop()
	alarm := time.NewTimer(most)
	defer alarm.Stop()
	for {
		if at := l.Alarm.at(); !at.IsZero() {
			wait := at.Sub(l.Now())
			if wait <= 0 {
				return true
			}
			alarm.Reset(wait)
		}
		select {
		case <-ctx.Done():
			return true
		case <-over.C:
			at := l.Alarm.at() // both may be over
			return !at.IsZero() && !at.After(l.Now())
		case <-alarm.C: // the clock may not be the system's: it is asked again
		case <-l.Alarm.ring:
		}
	}
}

// Alarm tells a loop when it has something to do. It is safe for use by many
// goroutines.
type Alarm struct {
	mu   sync.Mutex // guards due
	due  time.Time  // zero: never
	ring chan struct{}
}

// NewAlarm returns one that is not set.
func NewAlarm() *Alarm { return &Alarm{ring: make(chan struct{}, 1)} }

// Set wakes the loop at a time, unless it is woken before. It never blocks.
func (a *Alarm) Set(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.due.IsZero() || at.Before(a.due) {
		a.due = at
		a.sound()
	}
}

// Check makes the loop compare the alarm with its clock again, which may have
// jumped.
func (a *Alarm) Check() { a.sound() }

func (a *Alarm) sound() {
	select {
	case a.ring <- struct{}{}:
	default: // it rings
	}
}

// Forget takes the alarm back: who is about to look need not be told to.
func (a *Alarm) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due = time.Time{}
	select {
	case <-a.ring:
	default:
	}
}

func (a *Alarm) at() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.due
}
