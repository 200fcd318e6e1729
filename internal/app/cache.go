package app

import (
	"sync"
	"time"
)

const (
	// cacheTTL is how long a revoked key or a changed endpoint may still be seen.
	cacheTTL = 5 * time.Second
	// cacheLimit bounds a cache; one that is full starts again.
	cacheLimit = 20_000
)

// cache keeps what hot paths read again and again, for a short time.
type cache[T any] struct {
	now     func() time.Time
	mu      sync.RWMutex
	entries map[string]cached[T]
}

type cached[T any] struct {
	value   T
	expires time.Time
}

func newCache[T any](now func() time.Time) *cache[T] {
	return &cache[T]{now: now, entries: map[string]cached[T]{}}
}

// get returns the value of a key, read by load when it is not known. Errors
// are not kept.
func (c *cache[T]) get(key string, load func() (T, error)) (T, error) {
	now := c.now()
	c.mu.RLock()
	e, ok := c.entries[key]
	c.mu.RUnlock()
	if ok && now.Before(e.expires) {
		return e.value, nil
	}
	value, err := load()
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.entries) >= cacheLimit {
		clear(c.entries)
	}
	c.entries[key] = cached[T]{value, now.Add(cacheTTL)}
	return value, nil
}

// has reports whether a key's value is known, be it an old one.
func (c *cache[T]) has(key string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, ok := c.entries[key]
	return ok
}

// forget drops a key that this node has just changed.
func (c *cache[T]) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}
