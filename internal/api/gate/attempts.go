package gate

import (
	"context"
	"sync"
)

// attempts lets so many at a time of an address find out whether their credentials are good as
// the address may yet be wrong: who asks at once learns no more than who asks in turn. The others
// wait. Each node has its own.
type attempts struct {
	mu sync.Mutex // owns of, and what is in it
	of map[string]*attempt
}

type attempt struct {
	visitors int           // who tries, or wants to
	under    int           // who tries
	over     chan struct{} // closed when one who tried is done
}

// enter waits until one more of an address may try; the caller leaves when its failure has been
// counted. left is how many failures the address may have yet; where that is none, nobody waits,
// and ok is false.
//
// Errors: the context's.
func (a *attempts) enter(ctx context.Context, address string, left func() int) (leave func(), ok bool, err error) {
	mine := a.visit(address)
	for {
		over := a.next(mine)
		room := left() // it may ask Redis
		if room <= 0 {
			a.gone(address, mine)
			return nil, false, nil
		}
		if a.begin(mine, over, room) {
			return func() { a.end(address, mine) }, true, nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			a.gone(address, mine)
			return nil, false, ctx.Err()
		}
	}
}

func (a *attempts) visit(address string) *attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]*attempt{}
	}
	mine := a.of[address]
	if mine == nil {
		mine = &attempt{over: make(chan struct{})}
		a.of[address] = mine
	}
	mine.visitors++
	return mine
}

// next is closed when the next one is done, whose failure then counts.
func (a *attempts) next(mine *attempt) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return mine.over
}

// begin takes a place where there is room, and where nobody was done since room was looked at.
func (a *attempts) begin(mine *attempt, over <-chan struct{}, room int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if mine.over != over || mine.under >= room {
		return false
	}
	mine.under++
	return true
}

func (a *attempts) end(address string, mine *attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	mine.under--
	close(mine.over)
	mine.over = make(chan struct{})
	a.forget(address, mine)
}

func (a *attempts) gone(address string, mine *attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(address, mine)
}

// forget lets a visitor go. The caller holds mu.
func (a *attempts) forget(address string, mine *attempt) {
	if mine.visitors--; mine.visitors == 0 {
		delete(a.of, address)
	}
}
