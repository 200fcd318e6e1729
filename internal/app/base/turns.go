package base

import "sync"

// turns lets those who want to change the same row go one after the other on
// this node. It is for speed alone: who goes without it loses by the version
// and has to decide again, which a hundred at a time would do too often.
type turns struct {
	mu      sync.Mutex // owns waiting
	waiting map[string]*turn
}

type turn struct {
	Latch
	holders int // who has it or waits for it
}

// Latch is a lock that is held while the database is asked. Who waits for it waits
// on a channel, which a simulation with a clock of its own can see; a sync.Mutex is
// for what takes no time.
type Latch chan struct{}

// NewLatch returns one that nobody holds.
func NewLatch() Latch { return make(Latch, 1) }

// Lock waits for the latch.
func (l Latch) Lock() { l <- struct{}{} }

// Unlock gives it back.
func (l Latch) Unlock() { <-l }

// Take waits for the key's turn; the caller ends it.
func (t *turns) Take(key string) (end func()) {
	t.mu.Lock()
	mine := t.waiting[key]
	if mine == nil {
		mine = &turn{Latch: NewLatch()}
		t.waiting[key] = mine
	}
	mine.holders++
	t.mu.Unlock()
	mine.Lock()
	return func() {
		mine.Unlock()
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.holders--; mine.holders == 0 {
			delete(t.waiting, key)
		}
	}
}
