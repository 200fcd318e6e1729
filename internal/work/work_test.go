package work_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cascadapay/cascada/internal/work"
)

func TestLoopLooksAgainAtOnceWhileThereIsWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start, left := time.Now(), 3
		var mu sync.Mutex // owns looks and left
		var looks []time.Duration
		done := make(chan struct{})
		go func() {
			defer close(done)
			work.Loop{Name: "test", Every: time.Minute, Do: func(context.Context) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				looks = append(looks, time.Since(start))
				if left == 0 {
					return 0, errors.New("an error does not end the loop")
				}
				left--
				return 1, nil
			}}.Run(ctx, slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		seen := func() []time.Duration {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(looks)
		}
		if n := len(seen()); n != 4 {
			t.Fatalf("%d looks at once for 3 pieces of work, want 4", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := seen(); len(got) != 5 || got[4] != time.Minute {
			t.Errorf("looks at %v, want one more after a minute", got)
		}
		cancel()
		<-done
	})
}
