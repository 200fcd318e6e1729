package delivery

import (
	"context"
	"sync"

	"github.com/cascadapay/cascada/internal/pay/tenant"
	"golang.org/x/sync/semaphore"
)

const (
	// crowdLimit is the most requests to the endpoints of an environment at the same time, and
	// crowdShare the most of one merchant. Each endpoint that answers slowly occupies a lane, and a
	// merchant may have many shops.
	crowdLimit = 2048
	crowdShare = 256
)

// crowd limits the requests to endpoints that are under way, separately for the sandbox and
// production.
type crowd struct {
	all map[bool]*semaphore.Weighted // by Live

	mu sync.Mutex // guards of
	of map[tenancy]*share
}

// tenancy is a merchant in an environment.
type tenancy struct {
	merchant string
	live     bool
}

// share is one merchant's part.
type share struct {
	*semaphore.Weighted
	holders int // those in it or waiting
}

func newCrowd() *crowd {
	return &crowd{
		all: map[bool]*semaphore.Weighted{false: semaphore.NewWeighted(crowdLimit), true: semaphore.NewWeighted(crowdLimit)},
		of:  map[tenancy]*share{},
	}
}

// enter waits until a merchant may make one more request. The caller must call leave.
//
// It returns the context's error.
func (c *crowd) enter(ctx context.Context, scope tenant.Scope) (leave func(), err error) {
	who, all := tenancy{scope.Merchant, scope.Live}, c.all[scope.Live]
	c.mu.Lock()
	mine := c.of[who]
	if mine == nil {
		mine = &share{Weighted: semaphore.NewWeighted(crowdShare)}
		c.of[who] = mine
	}
	mine.holders++
	c.mu.Unlock()
	gone := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if mine.holders--; mine.holders == 0 {
			delete(c.of, who)
		}
	}
	if err := mine.Acquire(ctx, 1); err != nil {
		gone()
		return nil, err
	}
	if err := all.Acquire(ctx, 1); err != nil {
		mine.Release(1)
		gone()
		return nil, err
	}
	return func() {
		all.Release(1)
		mine.Release(1)
		gone()
	}, nil
}
