package base

import (
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// CacheTTL is how long a revoked key or a changed endpoint may still be used.
	CacheTTL = 5 * time.Second
	// CacheLimit is the largest number of entries. The least recently used one is dropped first.
	CacheLimit = 20_000
)

// Cache keeps values that are read often, for CacheTTL by the service's clock.
type Cache[T any] struct {
	now     func() time.Time
	entries *lru.Cache[string, cached[T]]
	// mu makes the check of forgotten and the adding of a value one step. forgotten counts the dropped keys: a value that was
	// read before a drop may be old.
	mu        sync.Mutex
	forgotten int64
}

type cached[T any] struct {
	value   T
	expires time.Time
}

// NewCache returns an empty cache.
func NewCache[T any](now func() time.Time) *Cache[T] {
	return &Cache[T]{now: now, entries: Newest[string, cached[T]](CacheLimit)}
}

// Newest returns a cache of the most recently used entries, with a limit on their number.
func Newest[K comparable, V any](most int) *lru.Cache[K, V] {
	list, err := lru.New[K, V](most)
	if err != nil {
		panic(err) // most is zero or negative
	}
	return list
}

// Get returns the value of a key, and calls load if it is not cached. Errors are not cached.
func (c *Cache[T]) Get(key string, load func() (T, error)) (T, error) {
	now := c.now()
	if e, ok := c.entries.Get(key); ok && now.Before(e.expires) {
		return e.value, nil
	}
	c.mu.Lock()
	before := c.forgotten
	c.mu.Unlock()
	value, err := load()
	if err != nil {
		return value, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgotten == before {
		c.entries.Add(key, cached[T]{value, now.Add(CacheTTL)})
	}
	return value, nil
}

// Has reports whether the cache has a value for the key, even an expired one.
func (c *Cache[T]) Has(key string) bool { return c.entries.Contains(key) }

// Forget drops a key that this node has changed. A value that is being read now is not kept.
func (c *Cache[T]) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten++
	c.entries.Remove(key)
}
