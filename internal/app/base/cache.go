package base

import (
	"sync"
	"time"
)

const (
	// CacheTTL is how long a revoked key or a changed endpoint may still be seen.
	CacheTTL = 5 * time.Second
	// CacheLimit bounds a cache; one that is full starts again.
	CacheLimit = 20_000
)

// Cache keeps what hot paths read again and again, for a short time.
type Cache[T any] struct {
	now     func() time.Time
	mu      sync.RWMutex
	entries map[string]cached[T]
}

type cached[T any] struct {
	value   T
	expires time.Time
}

// NewCache returns an empty one.
func NewCache[T any](now func() time.Time) *Cache[T] {
	return &Cache[T]{now: now, entries: map[string]cached[T]{}}
}

// Get returns the value of a key, read by load when it is not known. Errors
// are not kept.
func (c *Cache[T]) Get(key string, load func() (T, error)) (T, error) {
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
	if len(c.entries) >= CacheLimit {
		clear(c.entries)
	}
	c.entries[key] = cached[T]{value, now.Add(CacheTTL)}
	return value, nil
}

// Has reports whether a key's value is known, be it an old one.
func (c *Cache[T]) Has(key string) bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, ok := c.entries[key]
	return ok
}

// Forget drops a key that this node has just changed.
func (c *Cache[T]) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, key)
}
