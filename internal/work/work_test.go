package work_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
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
		var mu sync.Mutex // guards looks and left
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

// A loop that knows how much it takes at a time rests after less.
func TestLoopRestsAfterLessThanABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		left, looks := 5, 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			work.Loop{Name: "test", Every: time.Minute, Batch: 2, Do: func(context.Context) (int, error) {
				looks++
				n := min(left, 2)
				left -= n
				return n, nil
			}}.Run(ctx, slog.New(slog.DiscardHandler))
		}()
		synctest.Wait()
		if left != 0 || looks != 3 {
			t.Errorf("after %d looks %d of 5 are left, want 0 after 3", looks, left)
		}
		cancel()
		<-done
	})
}

// A loop with an alarm looks when it is due, and not before.
func TestLoopSleepsUntilItsAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		start, alarm := time.Now(), work.NewAlarm()
		var mu sync.Mutex // guards looks, next and jump
		var looks []time.Duration
		var next time.Time
		var jump time.Duration
		now := func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return time.Now().Add(jump)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			work.Loop{Name: "test", Every: time.Hour, Alarm: alarm, Now: now,
				Do: func(context.Context) (int, error) {
					mu.Lock()
					defer mu.Unlock()
					looks = append(looks, time.Since(start))
					return 0, nil
				},
				Next: func(context.Context) (time.Time, error) {
					mu.Lock()
					defer mu.Unlock()
					return next, nil
				},
			}.Run(ctx, slog.New(slog.DiscardHandler))
		}()
		want := []time.Duration{0}
		check := func(what string, after time.Duration) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(looks, want) {
				t.Fatalf("%s: looks at %v, want %v", what, looks, want)
			}
		}
		check("nothing is due", 10*time.Minute)

		alarm.Set(start.Add(20 * time.Minute))
		alarm.Set(start.Add(30 * time.Minute)) // later than what it knows
		check("before the alarm", 10*time.Minute-time.Millisecond)
		want = append(want, 20*time.Minute)
		check("at the alarm", time.Millisecond)
		want = append(want, 80*time.Minute)
		check("an hour without one", time.Hour)

		mu.Lock()
		next = start.Add(time.Minute) // long ago, and somebody else's
		mu.Unlock()
		alarm.Set(start)
		want = append(want, 80*time.Minute, 80*time.Minute+time.Second)
		check("what is left is looked at after a rest", 1500*time.Millisecond)

		mu.Lock()
		next = start.Add(3 * time.Hour)
		mu.Unlock()
		check("what it waited for comes later", time.Minute)
		alarm.Set(start.Add(2 * time.Hour))
		mu.Lock()
		jump = time.Hour
		mu.Unlock()
		alarm.Check()
		want = append(want, time.Since(start))
		check("the clock jumped", 0)
		cancel()
		<-done
	})
}

// A loop that fails again and again in the same way says so now and then, and a new failure at once.
func TestLoopRepeatsItselfSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex // guards text and failure
		var text strings.Builder
		failure := errors.New("the disk is full")
		log := slog.New(slog.NewTextHandler(locked{&mu, &text}, nil))
		done := make(chan struct{})
		go func() {
			defer close(done)
			work.Loop{Name: "test", Every: time.Second, Do: func(context.Context) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				return 0, failure
			}}.Run(ctx, log)
		}()
		fails := func(with error, wait time.Duration) (lines int) {
			mu.Lock()
			failure = with
			mu.Unlock()
			time.Sleep(wait)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return strings.Count(text.String(), "\n")
		}
		if n := fails(failure, 9500*time.Millisecond); n != 1 {
			t.Errorf("%d lines after ten failures, want 1:\n%s", n, &text)
		}
		if n := fails(failure, time.Second); n != 2 || !strings.Contains(text.String(), "failed_before=10") {
			t.Errorf("%d lines after eleven failures, want 2, with how many came before:\n%s", n, &text)
		}
		if n := fails(errors.New("the disk is gone"), time.Second); n != 3 {
			t.Errorf("%d lines after another failure, want 3:\n%s", n, &text)
		}
		fails(nil, time.Second)
		if n := fails(errors.New("the disk is gone"), time.Second); n != 4 {
			t.Errorf("%d lines after the same failure once it had worked, want 4:\n%s", n, &text)
		}
		cancel()
		<-done
	})
}

// A loop that looks seldom says each time that it fails: nobody hears of it otherwise.
func TestSeldomLoopSaysEachFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Minute)
		defer cancel()
		var text strings.Builder
		work.Loop{Name: "test", Every: time.Hour, Do: func(context.Context) (int, error) { return 0, errors.New("the disk is full") }}.
			Run(ctx, slog.New(slog.NewTextHandler(&text, nil)))
		if n := strings.Count(text.String(), "\n"); n != 3 {
			t.Errorf("%d lines after three failures, want 3:\n%s", n, &text)
		}
	})
}

// locked is a writer for one goroutine at a time.
type locked struct {
	mu *sync.Mutex
	to *strings.Builder
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}
