// Package background runs long work that an operator started. It continues after the operator's browser has gone,
// reports its progress, and can be stopped. One piece of a kind runs at a time on a node.
package background

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Job is a kind of long work. P is its progress, R is its result. It is safe for use by many goroutines.
type Job[P, R any] struct {
	now func() time.Time

	mu    sync.Mutex // owns what follows
	state State[P, R]
	stop  context.CancelFunc // of the running work
	ended chan struct{}      // closed when the running work has ended; nil: none ever ran
	shut  bool
}

// State is what a job does, and what it did last.
type State[P, R any] struct {
	Running  bool
	Stopping bool        // it was told to stop, and has not stopped yet
	By       audit.Actor // who started what runs
	Began    time.Time   // of what runs
	Progress P           // of what runs
	Last     *Ended[R]   // the work that ended last on this node; nil for none
	Changes  int64       // counts the changes of this state
}

// Ended is work that has ended.
type Ended[R any] struct {
	By        audit.Actor
	Began, At time.Time
	Result    R // as far as it got, if it was stopped or failed
	Stopped   bool
	Err       error // why it failed; nil if it was stopped
}

// New returns a job. now is the time, for State.
func New[P, R any](now func() time.Time) *Job[P, R] { return &Job[P, R]{now: now} }

// Start starts the work. do reports its progress by progress, and ends early when its context ends. after, if not nil, is
// called with what has ended, before the next work can start.
//
// Errors: conflict_state if such work runs already; service_unavailable if the service stops.
func (j *Job[P, R]) Start(by audit.Actor, first P, do func(ctx context.Context, progress func(P)) (R, error), after func(Ended[R])) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.shut:
		return problem.New(problem.ServiceUnavailable, nodeStops)
	case j.state.Running:
		return problem.New(problem.ConflictState, jobRuns)
	}
	ctx, stop := context.WithCancel(context.Background())
	j.stop, j.ended = stop, make(chan struct{})
	j.state.Running, j.state.Stopping, j.state.By, j.state.Began, j.state.Progress = true, false, by, j.now(), first
	j.state.Changes++
	go j.work(ctx, Ended[R]{By: by, Began: j.state.Began}, do, after)
	return nil
}

func (j *Job[P, R]) work(ctx context.Context, end Ended[R], do func(ctx context.Context, progress func(P)) (R, error), after func(Ended[R])) {
	defer close(j.ended)
	defer j.stop()
	end.Result, end.Err = safely(ctx, do, j.setProgress)
	if ctx.Err() != nil && end.Err != nil {
		end.Stopped, end.Err = true, nil
	}
	end.At = j.now()
	if after != nil {
		after(end)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state.Running, j.state.Stopping, j.state.Last = false, false, &end
	j.state.Changes++
}

// safely turns a panic of the work into its error: a mistake in such work must not end a node that takes
// payments.
func safely[P, R any](ctx context.Context, do func(ctx context.Context, progress func(P)) (R, error), progress func(P)) (result R, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("it panicked: %v\n%s", reason, debug.Stack())
		}
	}()
	return do(ctx, progress)
}

func (j *Job[P, R]) setProgress(at P) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.state.Progress = at
	j.state.Changes++
}

// Stop tells the work to stop. It reports whether any runs.
func (j *Job[P, R]) Stop() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.state.Running {
		return false
	}
	j.state.Stopping = true
	j.state.Changes++
	j.stop()
	return true
}

// State is what the job does now.
func (j *Job[P, R]) State() State[P, R] {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state
}

// Close stops the work and waits until it has ended. Nothing starts any more.
func (j *Job[P, R]) Close() {
	j.mu.Lock()
	j.shut = true
	ended := j.ended
	j.mu.Unlock()
	j.Stop()
	if ended != nil {
		<-ended
	}
}
