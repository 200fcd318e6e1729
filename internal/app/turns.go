package app

import "sync"

// turns lets those who want to change the same row go one after the other on
// this node. It is for speed alone: who goes without it loses by the version
// and has to decide again, which a hundred at a time would do too often.
type turns struct {
	mu      sync.Mutex // owns waiting
	waiting map[string]*turn
}

type turn struct {
	latch
	holders int // who has it or waits for it
}

// latch is a lock that is held while the database is asked. Who waits for it waits
// on a channel, which a simulation with a clock of its own can see; a sync.Mutex is
// for what takes no time.
type latch chan struct{}

func newLatch() latch { return make(latch, 1) }

func (l latch) lock()   { l <- struct{}{} }
func (l latch) unlock() { <-l }

// take waits for the key's turn; the caller ends it.
func (t *turns) take(key string) (end func()) {
	t.mu.Lock()
	mine := t.waiting[key]
	if mine == nil {
		mine = &turn{latch: newLatch()}
		t.waiting[key] = mine
	}
	mine.holders++
	t.mu.Unlock()
	mine.lock()
	return func() {
		mine.unlock()
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.holders--; mine.holders == 0 {
			delete(t.waiting, key)
		}
	}
}
