package store_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
	storewebhooks "github.com/cascadapay/cascada/internal/store/webhooks"
)

// A merchant with as many endpoints as allowed, all of which get his events, makes no batch long, and other
// merchants do not queue behind him.
func TestMerchantHasAShareOfABatch(t *testing.T) {
	shared, err := store.OpenShared(ctx, nil, time.Now)
	must(t, err)
	defer shared.Close()
	synctest.Test(t, func(t *testing.T) {
		gate, hold := make(chan struct{}), atomic.Bool{}
		var mu sync.Mutex
		var batches []int
		var order []string
		s, err := store.Open(ctx, "", store.Options{Shared: shared, Committers: 1,
			Through: func(ctx context.Context, trip store.Trip, run func(context.Context) error) error {
				if trip.Kind == store.TripCommit && hold.Load() {
					<-gate
				}
				return run(ctx)
			},
			Delivered: func(list []storewebhooks.Dispatch) {
				mu.Lock()
				defer mu.Unlock()
				batches = append(batches, len(list))
			},
			Written: func(c *pay.Change) {
				mu.Lock()
				defer mu.Unlock()
				for _, p := range c.Payments {
					order = append(order, p.Merchant)
				}
				if c.Once != nil {
					order = append(order, c.Once.Key)
				}
			},
		})
		must(t, err)
		defer s.Close()
		completedAt(t, s, "before", noon) // while it has no endpoints
		for i := range webhooks.MostSubscriptions {
			subscribe(t, s, fmt.Sprint(i), webhooks.AllEvents)
		}
		const payments = 60
		var ends []pay.Change
		for i := range payments {
			p := stored(t, s, fmt.Sprint("A", i))
			_, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, noon)
			ends = append(ends, payload(change))
		}
		var all sync.WaitGroup
		commit := func(c pay.Change) {
			all.Go(func() {
				if err := s.Commit(ctx, c); err != nil {
					t.Errorf("a change in the queue: %v", err)
				}
			})
			synctest.Wait() // until it is in the queue
		}
		mu.Lock()
		order, batches = nil, nil
		mu.Unlock()
		hold.Store(true)
		commit(once("before all"))
		for _, c := range ends {
			commit(c)
		}
		commit(once("another's"))
		close(gate)
		all.Wait()
		synctest.Wait() // until the store has reported the last batch's deliveries

		hold.Store(false)
		spread(t, s)
		synctest.Wait()
		made, longest := 0, 0
		for _, n := range batches {
			made, longest = made+n, max(longest, n)
		}
		if made != payments*webhooks.MostSubscriptions || longest > 1000 {
			t.Errorf("%d deliveries are in batches of %v, want %d in batches of at most 1000", made, batches, payments*webhooks.MostSubscriptions)
		}
		for i, who := range order {
			if who == "another's" && i > payments/2 {
				t.Errorf("another merchant's change was written in position %d, behind those of the merchant", i)
			}
		}
	})
}

// While others write, one merchant's share of a batch is so small that they hardly notice.
func TestShareIsSmallInCompany(t *testing.T) {
	shared, err := store.OpenShared(ctx, nil, time.Now)
	must(t, err)
	defer shared.Close()
	synctest.Test(t, func(t *testing.T) {
		gate, hold := make(chan struct{}), atomic.Bool{}
		var mu sync.Mutex
		var batches []map[string]int // number of payments by merchant
		s, err := store.Open(ctx, "", store.Options{Shared: shared, Committers: 1,
			Through: func(ctx context.Context, trip store.Trip, run func(context.Context) error) error {
				if trip.Kind == store.TripCommit {
					if hold.Load() {
						<-gate
					}
					mu.Lock()
					batches = append(batches, map[string]int{})
					mu.Unlock()
				}
				return run(ctx)
			},
			Written: func(c *pay.Change) {
				mu.Lock()
				defer mu.Unlock()
				for _, p := range c.Payments {
					batches[len(batches)-1][p.Merchant]++
				}
			},
		})
		must(t, err)
		defer s.Close()
		var all sync.WaitGroup
		commit := func(p pay.Payment) {
			_, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, noon)
			all.Go(func() { must(t, s.Commit(ctx, payload(change))) })
			synctest.Wait()
		}
		for _, others := range []int{0, 1} {
			var list []pay.Payment
			for i := range 120 {
				list = append(list, stored(t, s, fmt.Sprint("A", others, i)))
			}
			for i := range others {
				p := stored(t, s, fmt.Sprint("B", i))
				p.Merchant = "mer_other"
				list = append(list, p)
			}
			time.Sleep(time.Minute) // since anybody wrote
			mu.Lock()
			batches = nil
			mu.Unlock()
			hold.Store(true)
			all.Go(func() { must(t, s.Commit(ctx, once(fmt.Sprint("before all", others)))) })
			synctest.Wait()
			for _, p := range list {
				commit(p)
			}
			hold.Store(false)
			close(gate)
			all.Wait()
			gate = make(chan struct{})
			longest := 0
			for _, b := range batches {
				for _, n := range b {
					longest = max(longest, n)
				}
			}
			if others == 0 && longest <= 100 || others > 0 && longest > 100 {
				t.Errorf("beside %d others a merchant has %v in the batches", others, batches)
			}
		}
	})
}
