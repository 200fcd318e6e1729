package store

import "github.com/cascadapay/cascada/internal/store/engine"

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

// back notes that the database accepted a commit. It is back if it has room for a larger one too: on a disk that is almost
// full, it would be away again at once.
func (s *core) back() {
	if !s.away.Load() || !s.looking.TryLock() { // otherwise somebody else is finding out
		return
	}
	defer s.looking.Unlock()
	if s.b.DB.HasRoom(s.life) == nil && s.away.CompareAndSwap(true, false) {
		s.b.Log.Info("the database is back")
	}
}

// watch tries small commits until the database is back.
//
// The database may fail again while a try still runs, and two watches would share the prober: a second
// watch leaves the work to the first, which looks again once watching is cleared.
func (s *core) watch() {
	for s.away.Load() && s.watching.CompareAndSwap(false, true) {
		open := true
		for pause := minFindPause; open && s.away.Load(); pause = min(2*pause, maxFindPause) {
			if open = engine.Rest(pause, s.closing); open {
				s.probe()
			}
		}
		s.watching.Store(false)
		if !open {
			return
		}
	}
}

// probe tries once.
func (s *core) probe() {
	if _, err := s.prober.claim(s.life); err == nil {
		s.back()
	}
}
