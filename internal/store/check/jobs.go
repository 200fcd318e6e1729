package check

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/seal"
)

// job is a piece of a check that needs nothing of another one.
type job func(*checker, context.Context) error

// atOnce does jobs, as many at the same time as the check may, each over a connection of its own. After an error no further job begins.
func (c *checker) atOnce(ctx context.Context, jobs []job) error {
	if c.parallel <= 1 {
		for _, do := range jobs {
			if err := do(c, ctx); err != nil {
				return err
			}
		}
		return nil
	}
	forks, errs := make([]*checker, len(jobs)), make([]error, len(jobs))
	var failed atomic.Bool
	var running sync.WaitGroup
	slots := make(chan struct{}, c.parallel)
	for i, do := range jobs {
		slots <- struct{}{}
		if failed.Load() {
			break
		}
		forks[i] = c.fork()
		running.Go(func() {
			defer func() { <-slots }()
			if errs[i] = do(forks[i], ctx); errs[i] != nil {
				failed.Store(true)
			}
		})
	}
	running.Wait()
	for _, f := range forks {
		if f != nil {
			c.join(f)
		}
	}
	return errors.Join(errs...)
}

// fork returns a checker for one job, which shares only what is not written.
func (c *checker) fork() *checker {
	f := *c
	f.findings = findings{}
	f.h = seal.New(c.key)
	f.tallies = map[string]counts{}
	f.unclaimedSince = sinceWhen{}
	f.stage = stage{meter: c.meter}
	return &f
}

// join adds what a fork found. Forks are joined in the order of their jobs. No two forks have the same tally, or the same owners'
// oldest transfers.
func (c *checker) join(f *checker) {
	c.addAll(f.broken)
	maps.Copy(c.tallies, f.tallies)
	maps.Copy(c.unclaimedSince, f.unclaimedSince)
	f.end()
}

// meter reports the progress of a whole check.
type meter struct {
	tell  func(Progress)
	found func() []Broken
	began time.Time

	mu       sync.Mutex // guards the fields below
	progress Progress
	sizes    map[string]int64
}

// stage is the progress of what a checker does at present.
type stage struct {
	*meter
	name       string
	size, left int64 // in rows; size is 0 where no count is known
}

// report tells how far the check is. The caller holds mu.
func (s *stage) report() {
	if s.tell == nil {
		return
	}
	s.progress.Part, s.progress.PartDone, s.progress.PartTotal = s.name, s.size-s.left, s.size
	s.progress.Took, s.progress.Broken = time.Since(s.began), s.found()
	s.tell(s.progress)
}

// at starts a named part: a table, whose rows count, or an invariant.
func (s *stage) at(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress.Done += s.left
	s.name, s.size, s.left = name, s.sizes[name], s.sizes[name]
	delete(s.sizes, name)
	s.report()
}

// end ends the last part.
func (s *stage) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress.Done += s.left
	s.left = 0
}

// done counts rows, up to the part's estimated size.
func (s *stage) done(rows int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows = min(rows, s.left)
	s.left -= rows
	s.progress.Done += rows
	s.report()
}
