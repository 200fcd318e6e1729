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
	sync.Mutex
	holders int // who has it or waits for it
}

// take waits for the key's turn; the caller ends it.
func (t *turns) take(key string) (end func()) {
	t.mu.Lock()
	mine := t.waiting[key]
	if mine == nil {
		mine = &turn{}
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
