package base

import "sync"

// turns makes goroutines on this node that change the same row wait for each other. It only saves
// time: without it, the version check fails and they decide again, too often if there are a hundred
// at a time.
type turns struct {
	mu      sync.Mutex // guards waiting
	waiting map[string]*turn
}

type turn struct {
	Latch
	holders int // those who hold it or wait for it
}

// Latch is a lock for use during database calls. Waiting is done on a channel, which a simulation
// with its own clock can see. A sync.Mutex is only for short sections.
type Latch chan struct{}

// NewLatch returns an unlocked latch.
func NewLatch() Latch { return make(Latch, 1) }

// Lock waits for the latch.
func (l Latch) Lock() { l <- struct{}{} }

// Unlock releases the latch.
func (l Latch) Unlock() { <-l }

// Lock waits for the key's turn. The caller must call end.
func (t *turns) Lock(key string) (end func()) {
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
