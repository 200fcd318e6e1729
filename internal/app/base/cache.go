package base

import (
	"context"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"
)

const (
	// CacheTTL is how long a revoked key or a changed endpoint may still be used.
	CacheTTL = 5 * time.Second
	// CacheLimit is the largest number of entries. The least recently used one is dropped first.
	CacheLimit = 20_000
)

// Cache keeps values that are read often, for CacheTTL by the service's clock.
type Cache[T any] struct {
	now      func() time.Time
	together func(context.Context) // nil: nothing is called
	entries  *lru.Cache[string, cached[T]]
	loads    singleflight.Group // by key: at expiry one caller reads, and all who wait get that
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
func NewCache[T any](c *Config) *Cache[T] {
	return &Cache[T]{now: c.Now, together: c.Together, entries: Newest[string, cached[T]](CacheLimit)}
}

// Newest returns a cache of the most recently used entries, with a limit on their number.
func Newest[K comparable, V any](most int) *lru.Cache[K, V] {
	list, err := lru.New[K, V](most)
	if err != nil {
		panic(err) // most is zero or negative
	}
	return list
}

// Get returns the value of a key, and calls load if it is not cached. Callers at the same time share a load, which goes on when
// one of them leaves: its context has no end. PostgreSQL's reads end by themselves; SQLite's wait for nobody but the disk. Errors
// are not cached.
func (c *Cache[T]) Get(ctx context.Context, key string, load func(context.Context) (T, error)) (T, error) {
	now := c.now()
	if e, ok := c.entries.Get(key); ok && now.Before(e.expires) {
		return e.value, nil
	}
	for {
		got, err, shared := c.loads.Do(key, func() (any, error) {
			c.mu.Lock()
			before := c.forgotten
			c.mu.Unlock()
			began := c.now()
			value, err := load(context.WithoutCancel(ctx))
			e := cached[T]{value, began.Add(CacheTTL)}
			c.mu.Lock()
			defer c.mu.Unlock()
			if err == nil && c.forgotten == before {
				c.entries.Add(key, e)
			}
			return e, err
		})
		if shared && c.together != nil {
			c.together(ctx)
		}
		if e := got.(cached[T]); err != nil || now.Before(e.expires) { // else it was read too long before this caller came
			return e.value, err
		}
	}
}

// Has reports whether the cache has a value for the key, even an expired one.
func (c *Cache[T]) Has(key string) bool { return c.entries.Contains(key) }

// Forget drops a key that this node has changed. A value that is being read now is not kept, and whoever comes from now on does
// not wait for it.
func (c *Cache[T]) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgotten++
	c.entries.Remove(key)
	c.loads.Forget(key)
}
