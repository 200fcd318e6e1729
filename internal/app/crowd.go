package app

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	// crowdLimit is how many requests to endpoints of shops are under way at a time, and
	// crowdShare how many of one merchant's: endpoints that answer slowly take up a lane
	// each, and a merchant may have many shops.
	crowdLimit = 2048
	crowdShare = 256
)

// crowd bounds the requests to endpoints that are under way.
type crowd struct {
	all *semaphore.Weighted

	mu sync.Mutex // owns of
	of map[string]*share
}

// share is one merchant's part.
type share struct {
	*semaphore.Weighted
	holders int // who is in it or waits
}

func newCrowd() *crowd {
	return &crowd{all: semaphore.NewWeighted(crowdLimit), of: map[string]*share{}}
}

// enter waits until a merchant may make one more request; the caller leaves.
//
// Errors: the context's.
func (c *crowd) enter(ctx context.Context, merchant string) (leave func(), err error) {
	c.mu.Lock()
	mine := c.of[merchant]
	if mine == nil {
		mine = &share{Weighted: semaphore.NewWeighted(crowdShare)}
		c.of[merchant] = mine
	}
	mine.holders++
	c.mu.Unlock()
	gone := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if mine.holders--; mine.holders == 0 {
			delete(c.of, merchant)
		}
	}
	if err := mine.Acquire(ctx, 1); err != nil {
		gone()
		return nil, err
	}
	if err := c.all.Acquire(ctx, 1); err != nil {
		mine.Release(1)
		gone()
		return nil, err
	}
	return func() {
		c.all.Release(1)
		mine.Release(1)
		gone()
	}, nil
}
