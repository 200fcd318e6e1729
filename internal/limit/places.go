package limit

import "sync"

// Places bounds what is taken up at the same time: connections, bytes in memory. Whoever asks
// gets no more than stays free for the others: one owner may have half of all, two a third
// each, and somebody new finds a place however many there are. It is safe for use by many
// goroutines.
type Places struct {
	all int

	mu    sync.Mutex // guards what follows
	of    map[string]int
	taken int
}

// NewPlaces returns as many free places.
func NewPlaces(all int) *Places { return &Places{all: all, of: map[string]int{}} }

// Take takes n places, or none. It reports whether they were there for this owner.
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

// Leave gives n places back.
func (p *Places) Leave(owner string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken -= n
	if p.of[owner] -= n; p.of[owner] <= 0 {
		delete(p.of, owner)
	}
}
