package store

import (
	"time"
)

// gone notes that the database does not answer: commits are refused at once from now
// on, until it does again.
func (s *Store) gone(cause error) {
	if !s.away.CompareAndSwap(false, true) {
		return
	}
	s.log.Error("the database is away: requests that write get 503", "error", cause)
	select {
	case s.left <- struct{}{}:
	default: // watch has yet to look
	}
}

// back notes that the database took a commit.
func (s *Store) back() {
	if s.away.Load() && s.away.CompareAndSwap(true, false) {
		s.log.Info("the database is back")
	}
}

// watch waits until the database goes away, and tries small commits until one is done and
// there is room for larger ones. One goroutine runs it for as long as the store is open: the
// database may go away again before a try has ended, and two tries would share the prober.
func (s *Store) watch() {
	for {
		select {
		case <-s.left:
		case <-s.closing:
			return
		}
		for pause := minFindPause; s.away.Load() && rest(pause, s.closing); pause = min(2*pause, maxFindPause) {
			_, err := s.prober.claim(s.life)
			if err == nil && s.db.room(s.life) == nil {
				s.back()
			}
		}
	}
}

// rest pauses; false when that ends before.
func rest(pause time.Duration, end <-chan struct{}) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-end:
		return false
	}
}
