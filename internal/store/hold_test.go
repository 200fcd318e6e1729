package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cascadapay/cascada/internal/store"
)

// While the database hangs, all who want to begin a call hear of it when the first one does:
// they do not wait one after the other.
func TestAllWhoWaitForTheLeaseAreToldAtOnce(t *testing.T) {
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
					_, _, err := s.Hold(ctx)
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
				t.Errorf("while the database hangs a caller is told %v, want ErrNoHold", err)
			}
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("20 callers were told after %s, want two tries of five seconds", took)
		}
		hangs, failures = false, 1
		for _, err := range all() {
			if err != nil {
				t.Errorf("after one failure a caller is told %v", err)
			}
		}
	})
}
