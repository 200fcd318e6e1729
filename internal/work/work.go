// Package work runs loops over due rows, and makes goroutines that work under the same key take turns. It knows nothing
// about the work: a loop is a function that processes due work and returns how much.
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
	Every time.Duration // the longest pause between looks
	// Do leases due work and does it; it returns how many rows. Because of the lease, every
	// node may run the loop, and doing a row twice is harmless.
	Do func(context.Context) (int, error)
	// Batch is the most rows that Do leases at a time; fewer mean that nothing else was due,
	// and the loop rests. 0: after any work it looks again at once.
	Batch int
	// Alarm wakes the loop before Every is over; nil never does.
	Alarm *Alarm
	// Next returns when the next row comes due, zero if there is none; it is called after a
	// look that left nothing. nil: not known.
	Next func(context.Context) (time.Time, error)
	// Now is the clock of Alarm and Next.
	Now func() time.Time
	// Patience is how many times longer than other loops one look may take; 0 means 1. A batch
	// of rows takes longer than a query, and a table longer still.
	Patience int
}

// rest is the pause after a look that failed, or that left due work to another node.
const rest = time.Second

// quiet is about how long a loop that fails in the same way, try after try, says nothing more.
const quiet = 10 * rest

// failures keeps a loop that fails again and again from filling the log.
type failures struct {
	last string
	n    int // equal failures before the last one
}

// log writes a failure: the first of its kind, and then one for each span of quiet. The loop tries again after retry.
func (f *failures) log(log *slog.Logger, loop string, retry time.Duration, err error) {
	if text := err.Error(); text != f.last {
		f.last, f.n = text, 0
	}
	if f.n%max(1, int(quiet/max(retry, time.Millisecond))) == 0 {
		log.Error("a work loop failed; it continues", "loop", loop, "error", err, "failed_before", f.n)
	}
	f.n++
}

// Run looks for work until ctx ends. After a look that may have left work, it looks again
// at once; errors are logged and retried later.
func (l Loop) Run(ctx context.Context, log *slog.Logger) {
	retry := min(rest, l.Every)
	if l.Alarm == nil { // it looks now and then, without hurry
		l.Alarm, retry = NewAlarm(), l.Every
	}
	var failed failures
	for ctx.Err() == nil {
		l.Alarm.Forget() // an alarm from now on counts
		n, err := l.Do(ctx)
		wait, again := l.Every, n > 0 && n >= l.Batch
		if err == nil && !again {
			wait, err = l.pause(ctx)
		}
		if err == nil {
			failed = failures{}
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failed.log(log, l.Name, retry, err)
			l.sleep(ctx, retry)
		case !again:
			l.idle(ctx, wait)
		}
	}
}

// idle sleeps until there may be work. If the time that it waits for moves meanwhile, it
// waits again.
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

// pause is how long nothing is due, according to Next.
func (l Loop) pause(ctx context.Context) (time.Duration, error) {
	if l.Next == nil {
		return l.Every, nil
	}
	at, err := l.Next(ctx)
	if err != nil || at.IsZero() {
		return l.Every, err
	}
	// Due work that was left belongs to another node.
	return min(max(at.Sub(l.Now()), rest), l.Every), nil
}

// sleep returns after a while, or with true when the alarm is due or ctx ends.
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
			at := l.Alarm.at() // both may have ended
			return !at.IsZero() && !at.After(l.Now())
		case <-alarm.C: // the clock may not be the system's: check it again
		case <-l.Alarm.ring:
		}
	}
}

// Alarm tells a loop when it has work. It is safe for concurrent use.
type Alarm struct {
	mu   sync.Mutex // guards due
	due  time.Time  // zero: never
	ring chan struct{}
}

// NewAlarm returns an alarm that is not set.
func NewAlarm() *Alarm { return &Alarm{ring: make(chan struct{}, 1)} }

// Set wakes the loop at a time, unless it is woken earlier. It never blocks.
func (a *Alarm) Set(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.due.IsZero() || at.Before(a.due) {
		a.due = at
		a.sound()
	}
}

// Check makes the loop compare the alarm with its clock again, because the clock may have
// jumped.
func (a *Alarm) Check() { a.sound() }

func (a *Alarm) sound() {
	select {
	case a.ring <- struct{}{}:
	default: // it rings already
	}
}

// Forget clears the alarm, because the loop is about to look anyway.
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
