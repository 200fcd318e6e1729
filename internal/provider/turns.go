package provider

import (
	"context"
	"sync"
)

// Turns allows one call at a time under a reference, in this process. It holds an entry
// only for references in use. Its zero value is ready.
type Turns struct {
	mu   sync.Mutex // guards what follows
	held map[string]chan struct{}
}

// Lock waits for the turn of a reference until the context ends. The caller must call
// done.
//
// Errors: the context's.
func (l *Turns) Lock(ctx context.Context, reference string) (done func(), err error) {
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
