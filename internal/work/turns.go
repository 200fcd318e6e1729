package work

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Latch is a lock for use during database calls. Waiting is done on a channel, which a simulation
// with its own clock can see. A sync.Mutex is only for short sections.
type Latch chan struct{}

// NewLatch returns an unlocked latch.
func NewLatch() Latch { return make(Latch, 1) }

// Lock waits for the latch.
func (l Latch) Lock() { l <- struct{}{} }

// Unlock releases the latch.
func (l Latch) Unlock() { <-l }

// Turns limits how many goroutines of this process work under the same key at a time. The others wait, on a channel as
// for a Latch, and get their turns in the order in which they came. It holds an entry only for keys in use. Its zero
// value is ready, and lets one at a time work under a key. It is safe for concurrent use.
type Turns struct {
	Each int64 // the most at a time under one key; 0 means one
	All  int64 // the most at a time under all keys together; 0 means any number

	mu  sync.Mutex // guards what follows
	of  map[string]*turn
	all *semaphore.Weighted // nil before the first turn, and without a limit
}

// turn has the places of one key.
type turn struct {
	*semaphore.Weighted
	holders int // those who have a place or wait for one
}

// Lock waits for a place under the key, and then for one of those of all keys, until the context ends. The caller must call
// done.
//
// Errors: the context's.
func (t *Turns) Lock(ctx context.Context, key string) (done func(), err error) {
	mine, all := t.join(key)
	if err := wait(ctx, mine.Weighted); err != nil {
		t.leave(key, mine)
		return nil, err
	}
	own := func() {
		mine.Release(1)
		t.leave(key, mine)
	}
	if all == nil {
		return own, nil
	}
	if err := wait(ctx, all); err != nil {
		own()
		return nil, err
	}
	return func() {
		all.Release(1)
		own()
	}, nil
}

// wait waits for a place. It gets a free one even if the context has ended.
func wait(ctx context.Context, places *semaphore.Weighted) error {
	if places.TryAcquire(1) {
		return nil
	}
	return places.Acquire(ctx, 1)
}

func (t *Turns) join(key string) (mine *turn, all *semaphore.Weighted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]*turn{}
		if t.All > 0 {
			t.all = semaphore.NewWeighted(t.All)
		}
	}
	mine = t.of[key]
	if mine == nil {
		mine = &turn{Weighted: semaphore.NewWeighted(max(t.Each, 1))}
		t.of[key] = mine
	}
	mine.holders++
	return mine, t.all
}

func (t *Turns) leave(key string, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine.holders--; mine.holders == 0 {
		delete(t.of, key)
	}
}
