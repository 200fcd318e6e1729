package base_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
)

// A value that was being read while this node changed it is not kept: whoever has paused a merchant, or revoked a key, was
// told that it is done, and the next request on this node obeys.
func TestCacheKeepsNothingThatWasReadBeforeAChange(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	c := base.NewCache[string](&base.Config{Now: func() time.Time { return now }})
	get := func(load func() string) string {
		t.Helper()
		got, err := c.Get(t.Context(), "mer_1", func(context.Context) (string, error) { return load(), nil })
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	during := get(func() string {
		c.Forget("mer_1") // the change is written after this request has read
		return "open"
	})
	if after := get(func() string { return "paused" }); during != "open" || after != "paused" {
		t.Errorf("the request during the change sees %q, the next one %q", during, after)
	}
	if kept := get(func() string { return "read again" }); kept != "paused" {
		t.Errorf("a value is not kept: %q", kept)
	}
	now = now.Add(base.CacheTTL)
	if late := get(func() string { return "open again" }); late != "open again" {
		t.Errorf("a value is kept for too long: %q", late)
	}
}

// held is a cache whose first read waits until release. Each read counts itself, and returns its number.
type held struct {
	*base.Cache[int]
	mu      sync.Mutex // guards loads
	loads   int
	release chan struct{}
}

func (h *held) get(ctx context.Context) (int, error) {
	return h.Get(ctx, "mer_1", func(ctx context.Context) (int, error) {
		h.mu.Lock()
		h.loads++
		n := h.loads
		h.mu.Unlock()
		if n == 1 {
			select {
			case <-h.release:
			case <-ctx.Done():
			}
		}
		return n, ctx.Err()
	})
}

// At expiry one caller reads the database, not each that waits. If it leaves, the others get what it read.
func TestCacheReadsOnceForAllWhoWait(t *testing.T) {
	for name, leave := range map[string]bool{"all stay": false, "the first leaves": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &held{Cache: base.NewCache[int](&base.Config{Now: time.Now}), release: make(chan struct{})}
				first, leaves := context.WithCancel(t.Context())
				defer leaves()
				got, errs := make([]int, 50), make([]error, 50)
				var all sync.WaitGroup
				for i := range got {
					ctx := t.Context()
					if i == 0 {
						ctx = first
					}
					all.Go(func() { got[i], errs[i] = h.get(ctx) })
					synctest.Wait() // it reads or waits
				}
				if leave {
					leaves()
					synctest.Wait()
				}
				close(h.release)
				all.Wait()
				for i := range got {
					if got[i] != 1 || errs[i] != nil {
						t.Errorf("caller %d gets %d with the error %v, want what the first read", i, got[i], errs[i])
					}
				}
				if h.loads != 1 {
					t.Errorf("%d callers at the same time read %d times, want once", len(got), h.loads)
				}
			})
		})
	}
}

// Who comes after a change, or when what is being read would be too old, does not get it.
func TestCacheSharesNoReadFromBeforeAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &held{Cache: base.NewCache[int](&base.Config{Now: time.Now}), release: make(chan struct{})}
		var all sync.WaitGroup
		all.Go(func() { _, _ = h.get(t.Context()) })
		synctest.Wait()
		h.Forget("mer_1")
		if n, err := h.get(t.Context()); n != 2 || err != nil {
			t.Errorf("after a change a caller gets %d with the error %v, want a read of its own", n, err)
		}
		close(h.release)
		all.Wait()
		if n, err := h.get(t.Context()); n != 2 || err != nil {
			t.Errorf("after the earlier read has ended a caller gets %d with the error %v, want the later one", n, err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		h := &held{Cache: base.NewCache[int](&base.Config{Now: time.Now}), release: make(chan struct{})}
		var all sync.WaitGroup
		all.Go(func() { _, _ = h.get(t.Context()) })
		time.Sleep(base.CacheTTL)
		all.Go(func() {
			if n, err := h.get(t.Context()); n != 2 || err != nil {
				t.Errorf("a caller that waited for a read from %s ago gets %d with the error %v, want a read of its own", base.CacheTTL, n, err)
			}
		})
		synctest.Wait()
		close(h.release)
		all.Wait()
	})
}

// What fails is told to all who wait, and read again by the next.
func TestCacheKeepsNoError(t *testing.T) {
	c := base.NewCache[int](&base.Config{Now: time.Now})
	gone := errors.New("gone")
	if _, err := c.Get(t.Context(), "mer_1", func(context.Context) (int, error) { return 0, gone }); !errors.Is(err, gone) {
		t.Errorf("got %v, want the error of the read", err)
	}
	if n, err := c.Get(t.Context(), "mer_1", func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("after an error got %d and %v, want a new read", n, err)
	}
}
