package limit

import "sync"

// Places limits what is in use at the same time: connections, bytes of memory. An owner
// gets no more than stays free for the others: one owner may have half of all, two a third
// each, so there is always a place for a new one. It is safe for concurrent use.
type Places struct {
	all int

	mu   sync.Mutex // guards what follows
	of   map[string]int
	used int
}

// NewPlaces returns that many free places.
func NewPlaces(all int) *Places { return &Places{all: all, of: map[string]int{}} }

// Acquire takes n places, or none. It reports whether this owner got them.
func (p *Places) Acquire(owner string, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[owner]+n > p.all-p.used-n {
		return false
	}
	p.of[owner] += n
	p.used += n
	return true
}

// Enter takes one place in the name of several owners at once, such as a user and the user's merchant: each must have a share
// left. The caller leaves once. ok is false if none was taken.
func (p *Places) Enter(owners ...string) (leave func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, owner := range owners {
		if p.of[owner]+1 > p.all-p.used-1 {
			return nil, false
		}
	}
	p.used++
	for _, owner := range owners {
		p.of[owner]++
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.used--
		for _, owner := range owners {
			if p.of[owner]--; p.of[owner] <= 0 {
				delete(p.of, owner)
			}
		}
	}, true
}

// Leave returns n places.
func (p *Places) Leave(owner string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= n
	if p.of[owner] -= n; p.of[owner] <= 0 {
		delete(p.of, owner)
	}
}
