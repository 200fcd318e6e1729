package gate

import (
	"context"
	"sync"
)

// attempts limits concurrent credential checks per address to the failures that the address has left:
// parallel requests learn no more than sequential ones. Other requests wait. Each node counts its own.
type attempts struct {
	mu sync.Mutex // owns of and its entries
	of map[string]*attempt
}

type attempt struct {
	visitors int           // requests that try, or wait to
	under    int           // requests that try
	over     chan struct{} // closed when one of them is done
}

// enter waits until another request of an address may try. The caller leaves once its failure is counted.
// left returns how many failures the address has left; at zero nobody waits and ok is false.
//
// Errors: the context's.
func (a *attempts) enter(ctx context.Context, address string, left func() int) (leave func(), ok bool, err error) {
	this := a.visit(address)
	for {
		over := a.next(this)
		room := left() // may query Redis
		if room <= 0 {
			a.gone(address, this)
			return nil, false, nil
		}
		if a.begin(this, over, room) {
			return func() { a.end(address, this) }, true, nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			a.gone(address, this)
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
	this := a.of[address]
	if this == nil {
		this = &attempt{over: make(chan struct{})}
		a.of[address] = this
	}
	this.visitors++
	return this
}

// next closes when the next request is done and its failure is counted.
func (a *attempts) next(this *attempt) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return this.over
}

// begin takes a place if there is room and nobody finished since room was read.
func (a *attempts) begin(this *attempt, over <-chan struct{}, room int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if this.over != over || this.under >= room {
		return false
	}
	this.under++
	return true
}

func (a *attempts) end(address string, this *attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	this.under--
	close(this.over)
	this.over = make(chan struct{})
	a.forget(address, this)
}

func (a *attempts) gone(address string, this *attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.forget(address, this)
}

// forget removes a visitor. The caller holds mu.
func (a *attempts) forget(address string, this *attempt) {
	if this.visitors--; this.visitors == 0 {
		delete(a.of, address)
	}
}
