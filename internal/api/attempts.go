package api

import (
	"context"
	"sync"
)

// attempts lets so many at a time of an address find out whether their credentials are good as
// the address may yet be wrong: who asks at once learns no more than who asks in turn. The others
// wait. Each node has its own.
type attempts struct {
	mu sync.Mutex // owns of
	of map[string]*attempt
}

type attempt struct {
	under int
	left  chan struct{} // closed when one is over
}

// enter waits until one more of an address may try; the caller leaves when its failure has been
// counted. left is how many failures the address may have yet; where that is none, nobody waits,
// and ok is false.
//
// Errors: the context's.
func (a *attempts) enter(ctx context.Context, address string, left func() int) (leave func(), ok bool, err error) {
	for {
		room := left() // it may ask Redis
		if room <= 0 {
			return nil, false, nil
		}
		mine, over := a.take(address, room)
		if over == nil {
			return func() { a.leave(address, mine) }, true, nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

// take takes one of an address's places, or returns what is closed when one is free.
func (a *attempts) take(address string, room int) (mine *attempt, over <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]*attempt{}
	}
	if mine = a.of[address]; mine == nil {
		mine = &attempt{left: make(chan struct{})}
		a.of[address] = mine
	}
	if mine.under >= room {
		return mine, mine.left
	}
	mine.under++
	return mine, nil
}

func (a *attempts) leave(address string, mine *attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(mine.left) // all who wait look how many failures are left
	if mine.left = make(chan struct{}); mine.under == 1 {
		delete(a.of, address)
	}
	mine.under--
}
