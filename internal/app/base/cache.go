package base

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// CacheTTL is how long a revoked key or a changed endpoint may still be seen.
	CacheTTL = 5 * time.Second
	// CacheLimit bounds a cache; what was not asked for longest makes room.
	CacheLimit = 20_000
)

// Cache keeps what hot paths read again and again, for a short time by the service's own clock.
type Cache[T any] struct {
	now     func() time.Time
	entries *lru.Cache[string, cached[T]]
}

type cached[T any] struct {
	value   T
	expires time.Time
}

// NewCache returns an empty one.
func NewCache[T any](now func() time.Time) *Cache[T] {
	return &Cache[T]{now: now, entries: Newest[string, cached[T]](CacheLimit)}
}

// Newest keeps what was asked for last, so many things at most.
func Newest[K comparable, V any](most int) *lru.Cache[K, V] {
	list, err := lru.New[K, V](most)
	if err != nil {
		panic(err) // most is not above zero
	}
	return list
}

// Get returns the value of a key, read by load when it is not known. Errors
// are not kept.
func (c *Cache[T]) Get(key string, load func() (T, error)) (T, error) {
	now := c.now()
	if e, ok := c.entries.Get(key); ok && now.Before(e.expires) {
		return e.value, nil
	}
	value, err := load()
	if err != nil {
		return value, err
	}
	c.entries.Add(key, cached[T]{value, now.Add(CacheTTL)})
	return value, nil
}

// Has reports whether a key's value is known, be it an old one.
func (c *Cache[T]) Has(key string) bool { return c.entries.Contains(key) }

// Forget drops a key that this node has just changed.
func (c *Cache[T]) Forget(key string) { c.entries.Remove(key) }
