package limit

import "sync"

// Places limits what is in use at the same time: connections, bytes of memory. An owner
// gets no more than stays free for the others: one owner may have half of all, two a third
// each, so there is always a place for a new one. It is safe for concurrent use.
type Places struct {
	all int

	mu    sync.Mutex // guards what follows
	of    map[string]int
	taken int
}

// NewPlaces returns that many free places.
func NewPlaces(all int) *Places { return &Places{all: all, of: map[string]int{}} }

// Take takes n places, or none. It reports whether this owner got them.
func (p *Places) Take(owner string, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of[owner]+n > p.all-p.taken-n {
		return false
	}
	p.of[owner] += n
	p.taken += n
	return true
}

// Leave returns n places.
func (p *Places) Leave(owner string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken -= n
	if p.of[owner] -= n; p.of[owner] <= 0 {
		delete(p.of, owner)
	}
}
