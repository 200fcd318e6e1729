package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cascadapay/cascada/internal/store"
)

// While the database hangs, all callers that want to begin a call get the result of the first one's try:
// they do not try one after the other.
func TestAllCallersShareOneTryForTheLease(t *testing.T) {
	shared, err := store.OpenShared(ctx, nil, time.Now)
	must(t, err)
	defer shared.Close()
	synctest.Test(t, func(t *testing.T) {
		hangs, failures := true, 0
		s, err := store.Open(ctx, "", store.Options{Shared: shared, Through: func(ctx context.Context, trip store.Trip, run func(context.Context) error) error {
			switch {
			case trip.Kind != store.TripLease:
			case hangs:
				<-ctx.Done()
				return ctx.Err()
			case failures > 0:
				failures--
				return errors.New("the line is cut")
			}
			return run(ctx)
		}})
		must(t, err)
		defer s.Close()
		all := func() (told []error) {
			var mu sync.Mutex
			var callers sync.WaitGroup
			for range 20 {
				callers.Go(func() {
					_, err := s.Hold(ctx)
					mu.Lock()
					defer mu.Unlock()
					told = append(told, err)
				})
			}
			callers.Wait()
			return told
		}
		began := time.Now()
		for _, err := range all() {
			if !errors.Is(err, store.ErrNoHold) {
				t.Errorf("while the database hangs a caller gets %v, want ErrNoHold", err)
			}
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("20 callers got a result after %s, want two tries of five seconds", took)
		}
		hangs, failures = false, 1
		for _, err := range all() {
			if err != nil {
				t.Errorf("after one failure a caller gets %v", err)
			}
		}
	})
}

// No call begins under a lease whose reply came late, or that was renewed before the process was
// suspended.
func TestLeaseThatNearlyEndsIsRenewed(t *testing.T) {
	for what, late := range map[string]time.Duration{
		"the reply came late":                       4900 * time.Millisecond,
		"the process was suspended after the reply": time.Minute,
	} {
		t.Run(what, func(t *testing.T) {
			shared, err := store.OpenShared(ctx, nil, time.Now)
			must(t, err)
			defer shared.Close()
			synctest.Test(t, func(t *testing.T) {
				late := late
				var mu sync.Mutex
				var until time.Time // the end of the lease in the database
				s, err := store.Open(ctx, "", store.Options{Shared: shared, Through: func(ctx context.Context, trip store.Trip, run func(context.Context) error) error {
					err := run(ctx)
					if joins(trip) {
						mu.Lock()
						until = time.Now().Add(5 * time.Second)
						wait := late
						late = 0
						mu.Unlock()
						time.Sleep(wait)
					}
					return err
				}})
				must(t, err)
				defer s.Close()
				var callers sync.WaitGroup
				for i := range 3 { // the first one renews, the others wait for it
					callers.Go(func() {
						time.Sleep(time.Duration(i) * time.Second)
						_, err := s.Hold(ctx)
						mu.Lock()
						defer mu.Unlock()
						if err != nil || time.Until(until) < 2*time.Second {
							t.Errorf("caller %d may begin a call (%v) under a lease of which %s is left", i, err, time.Until(until))
						}
					})
				}
				callers.Wait()
			})
		})
	}
}

// A process that joins again does not wait until the database knows that the idle node left.
func TestLeavingNodeDelaysNobody(t *testing.T) {
	shared, err := store.OpenShared(ctx, nil, time.Now)
	must(t, err)
	defer shared.Close()
	synctest.Test(t, func(t *testing.T) {
		var left atomic.Bool
		s, err := store.Open(ctx, "", store.Options{Shared: shared, Through: func(ctx context.Context, trip store.Trip, run func(context.Context) error) error {
			if trip.Kind == store.TripLease && strings.HasPrefix(trip.Texts[0], "DELETE FROM nodes WHERE id") {
				left.Store(true)
				<-ctx.Done()
				return ctx.Err()
			}
			return run(ctx)
		}})
		must(t, err)
		defer s.Close()
		must(t, s.Serve(ctx))
		before, err := s.Hold(ctx)
		must(t, err)
		for !left.Load() { // while it is idle
			time.Sleep(100 * time.Millisecond)
		}
		began := time.Now()
		after, err := s.Hold(ctx)
		if took := time.Since(began); err != nil || after.Node == before.Node || took > 0 {
			t.Errorf("after %s the node %s is %q, %v; want another name at once", took, before.Node, after.Node, err)
		}
	})
}

func joins(trip store.Trip) bool {
	return trip.Kind == store.TripLease && strings.HasPrefix(trip.Texts[0], "INSERT INTO nodes")
}
