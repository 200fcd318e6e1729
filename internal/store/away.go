package store

import "github.com/cascadapay/cascada/internal/store/engine"

// gone notes that the database does not answer: commits are refused at once from now
// on, until it does again.
func (s *core) gone(cause error) {
	if !s.away.CompareAndSwap(false, true) {
		return
	}
	s.Log.Error("the database is away: requests that write get 503", "error", cause)
	s.gate.RLock()
	defer s.gate.RUnlock()
	if !s.closed {
		s.group.Go(s.watch)
	}
}

// back notes that the database took a commit.
func (s *core) back() {
	if s.away.Load() && s.away.CompareAndSwap(true, false) {
		s.Log.Info("the database is back")
	}
}

// watch tries small commits until one is done, and there is room for larger ones.
//
// The database may go away again while a try still runs, and two at once would share the
// prober: a second watch leaves it to the first, which looks again once it is no longer
// known to watch.
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
	_, err := s.prober.claim(s.life)
	if err == nil && s.DB.Room(s.life) == nil {
		s.back()
	}
}
