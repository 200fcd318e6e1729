package main_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// readiness is what /readyz of the nodes answered during a failure, asked ten times a second.
type readiness struct {
	mu          sync.Mutex // owns what follows
	first, last time.Time  // answers other than 200; zero: there was none
	words       map[string]bool
}

// watchReady polls every node of a pack until the returned function is called.
func (k *pack) watchReady() (r *readiness, stop func()) {
	r = &readiness{words: map[string]bool{}}
	over := make(chan struct{})
	var watching sync.WaitGroup
	for i := range k.nodes {
		watching.Go(func() {
			for tick := time.NewTicker(100 * time.Millisecond); ; {
				select {
				case <-over:
					return
				case <-tick.C:
				}
				status, body := k.nodes[i].Load().says("/readyz")
				if status == http.StatusOK {
					continue
				}
				now := time.Now()
				r.mu.Lock()
				if r.first.IsZero() {
					r.first = now
				}
				r.last = now
				r.words[fmt.Sprintf("%d %s", status, body)] = true
				r.mu.Unlock()
			}
		})
	}
	return r, func() {
		close(over)
		watching.Wait()
	}
}

// since describes the answers: how long after a moment they changed, and for how long.
func (r *readiness) since(began time.Time) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.IsZero() {
		return "200 all the time"
	}
	return fmt.Sprintf("%s; after %s, for %s", strings.Join(slices.Sorted(maps.Keys(r.words)), ", "), ms(r.first.Sub(began)), ms(r.last.Sub(r.first)))
}
