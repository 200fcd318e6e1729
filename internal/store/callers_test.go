package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Callers leave at any moment, at two nodes: a change whose caller is told that it was refused is not
// written, then or later, and one that is told it was written is. No caller's end ends another's change.
func TestCallersWhoLeaveAreToldTheTruth(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		var nodes []*store.Store
		for range 2 {
			s, err := store.Open(ctx, database, store.Options{})
			must(t, err)
			defer s.Close()
			nodes = append(nodes, s)
		}
		const n = 400
		told := make([]error, n)
		var all sync.WaitGroup
		slots := make(chan struct{}, 24)
		for i := range n {
			slots <- struct{}{}
			all.Go(func() {
				defer func() { <-slots }()
				leaving, leave := context.WithCancel(ctx)
				defer leave()
				if i%2 == 0 {
					time.AfterFunc(time.Duration(rand.IntN(3000))*time.Microsecond, leave)
				}
				told[i] = nodes[i%4/2].Commit(leaving, once(fmt.Sprint("key ", i)))
			})
		}
		all.Wait()
		must(t, nodes[0].Commit(ctx, once("last"))) // whatever was under way is over
		must(t, nodes[1].Commit(ctx, once("and last")))
		for i, err := range told {
			_, missing := nodes[0].Idempotency().Get(ctx, fmt.Sprint("key ", i))
			switch {
			case err == nil && missing == nil:
			case errors.Is(err, engine.ErrBusy) && errors.Is(missing, store.ErrNotFound) && i%2 == 0:
			default:
				t.Errorf("change %d is told %v, and reading it: %v", i, err, missing)
			}
		}
	})
}

// Two nodes change the same rows of several tables, each in its own order: none waits for another in a
// circle, and of the changes to one version exactly one is written.
func TestNodesLockRowsInOneOrder(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		var nodes []*store.Store
		for range 2 {
			s, err := store.Open(ctx, database, store.Options{})
			must(t, err)
			defer s.Close()
			nodes = append(nodes, s)
		}
		state := func(version int64) (c pay.Change) {
			for _, i := range rand.Perm(6) {
				id := fmt.Sprint(i)
				c.Merchants = append(c.Merchants, merchants.Merchant{ID: "mer_" + id, Version: version, CreatedAt: noon})
				c.Shops = append([]merchants.Shop{{ID: "shp_" + id, Version: version, Merchant: "mer_" + id, Slug: id, CreatedAt: noon}}, c.Shops...)
				c.Operators = append(c.Operators, operators.Operator{Name: "op" + id, Version: version, Hash: id, CreatedAt: noon})
			}
			return c
		}
		must(t, nodes[0].Commit(ctx, state(1)))
		for version := int64(2); version < 40; version++ {
			won := make(chan int, 8)
			var all sync.WaitGroup
			for worker := range 8 {
				change := state(version)
				all.Go(func() {
					switch err := nodes[worker%2].Commit(ctx, change); {
					case err == nil:
						won <- worker
					case !errors.Is(err, store.ErrStale):
						t.Errorf("version %d: %v", version, err)
					}
				})
			}
			all.Wait()
			if len(won) != 1 {
				t.Fatalf("version %d is written %d times", version, len(won))
			}
		}
		if !strings.HasPrefix(database, "sqlite:") {
			var deadlocks int
			must(t, newVandal(t, database).db.QueryRow("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks))
			if deadlocks > 0 {
				t.Errorf("%d deadlocks", deadlocks)
			}
		}
	})
}
