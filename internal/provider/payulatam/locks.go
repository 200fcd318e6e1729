package payulatam

import (
	"context"
	"sync"
)

// locks let one charge at a time be made under a reference. It holds an entry
// for each reference in work, and no other.
type locks struct {
	mu   sync.Mutex // owns what follows
	held map[string]chan struct{}
}

// lock waits for its turn, not longer than the context.
func (l *locks) lock(ctx context.Context, reference string) (unlock func(), err error) {
	for {
		l.mu.Lock()
		busy, taken := l.held[reference]
		if !taken {
			break
		}
		l.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[string]chan struct{}{}
	}
	free := make(chan struct{})
	l.held[reference] = free
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.held, reference)
		close(free)
	}, nil
}
