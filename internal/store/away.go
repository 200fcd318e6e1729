package store

import (
	"time"

	"github.com/cascadapay/cascada/internal/store/engine"
)

// gone notes that the database does not answer: commits are refused at once until it does.
func (s *core) gone(cause error) {
	if !s.away.CompareAndSwap(false, true) {
		return
	}
	s.b.Log.Error("the database is away: requests that write get 503", "error", cause)
	s.gate.RLock()
	defer s.gate.RUnlock()
	if !s.closed {
		s.group.Go(s.watch)
	}
}

// answered notes that the database accepted a commit. While it is away, one commit may be smaller than the next:
// the watch finds out whether it is back, and need not wait any longer to do so.
func (s *core) answered() {
	if !s.away.Load() {
		return
	}
	select {
	case s.sign <- struct{}{}:
	default: // the watch knows already
	}
}

// watch tries small commits until one succeeds and the database has room for larger ones.
//
// The database may fail again while a try still runs, and two watches would share the prober: a second
// watch leaves the work to the first, which looks again once watching is cleared.
func (s *core) watch() {
	for s.away.Load() && s.watching.CompareAndSwap(false, true) {
		if time.Since(s.backAt) > maxFindPause {
			s.pause = minFindPause
		} // else it comes and goes: there are fewer tries, and fewer lines in the log
		open := true
		for ; open && s.away.Load(); s.pause = min(2*s.pause, maxFindPause) {
			if open = s.restOrSign(); open {
				s.probe()
			}
		}
		s.watching.Store(false)
		if !open {
			return
		}
	}
}

// restOrSign waits for a pause, or for a shorter one after a sign of the database. It returns false if the store closes.
func (s *core) restOrSign() (open bool) {
	if !engine.Rest(minFindPause, s.closing) {
		return false
	}
	over := time.NewTimer(s.pause - minFindPause)
	defer over.Stop()
	select {
	case <-over.C:
	case <-s.sign:
	case <-s.closing:
		return false
	}
	return true
}

// probe tries once. The watch calls it.
func (s *core) probe() {
	if _, err := s.prober.claim(s.life); err != nil || s.b.DB.Room(s.life) != nil {
		return
	}
	if s.away.CompareAndSwap(true, false) {
		s.backAt = time.Now()
		s.b.Log.Info("the database is back")
	}
}
