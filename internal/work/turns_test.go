package work_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cascadapay/cascada/internal/work"
)

// lock gets the turn of a key, and fails the test if it has to wait.
func lock(t *testing.T, turns *work.Turns, key string) (done func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	done, err := turns.Lock(ctx, key)
	if err != nil {
		t.Fatalf("the turn of %s did not come: %v", key, err)
	}
	return done
}

func TestTurnsComeInTheOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns work.Turns
		release := lock(t, &turns, "a")
		var order []int // only the holder of the turn writes it
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				done, err := turns.Lock(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				defer done()
				order = append(order, i)
				time.Sleep(time.Second) // others may come between
			})
			synctest.Wait()
		}
		lock(t, &turns, "b")() // another key does not wait
		release()
		all.Wait()
		if len(order) != 20 || !slices.IsSorted(order) {
			t.Errorf("the turns came as %v", order)
		}
		if n := turns.Keys(); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	})
}

func TestWaiterWhoseContextEndsLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := work.Turns{All: 1}
		ended, end := context.WithCancel(t.Context())
		release := lock(t, &turns, "a")
		var all sync.WaitGroup
		for _, key := range []string{"a", "a", "b"} { // b waits for its place among all
			all.Go(func() {
				if _, err := turns.Lock(ended, key); !errors.Is(err, context.Canceled) {
					t.Errorf("%s waited until %v, want until its context ended", key, err)
				}
			})
		}
		synctest.Wait()
		end()
		all.Wait()
		if n := turns.Keys(); n != 1 {
			t.Errorf("%d keys are in use, want one", n)
		}
		release()
		lock(t, &turns, "b")()
		lock(t, &turns, "a")()
		free, err := turns.Lock(ended, "a") // nobody waits: the context does not matter
		if err != nil {
			t.Fatal(err)
		}
		free()
		if n := turns.Keys(); n != 0 {
			t.Errorf("%d keys are left", n)
		}
	})
}

func TestTurnsHaveLimitsForAKeyAndForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := work.Turns{Each: 2, All: 5}
		var mu sync.Mutex // guards what follows
		now, most := map[string]int{}, map[string]int{}
		count := func(key string, by int) {
			mu.Lock()
			defer mu.Unlock()
			for _, k := range []string{key, "all"} {
				now[k] += by
				most[k] = max(most[k], now[k])
			}
		}
		var all sync.WaitGroup
		for i := range 40 {
			key := strconv.Itoa(i % 4)
			all.Go(func() {
				done, err := turns.Lock(t.Context(), key)
				if err != nil {
					t.Error(err)
					return
				}
				defer done()
				count(key, 1)
				defer count(key, -1)
				time.Sleep(time.Second)
			})
		}
		all.Wait()
		if most["all"] != 5 || most["0"] != 2 || most["1"] != 2 || most["2"] != 2 || most["3"] != 2 {
			t.Errorf("at a time there were %v, want 2 under a key and 5 in all", most)
		}
	})
}

// It runs in real time, for the race detector.
func TestTurnsAreHeldByOneAtATime(t *testing.T) {
	var turns work.Turns
	counts := map[string]*int{"a": new(int), "b": new(int), "c": new(int)}
	var all sync.WaitGroup
	for i := range 300 {
		key := string("abc"[i%3])
		all.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if i%10 == 0 {
				cancel()
			}
			done, err := turns.Lock(ctx, key)
			if err != nil {
				return
			}
			defer done()
			*counts[key]++
		})
	}
	all.Wait()
	if sum := *counts["a"] + *counts["b"] + *counts["c"]; sum < 270 || sum > 300 || turns.Keys() != 0 {
		t.Errorf("%d turns, and %d keys are left", sum, turns.Keys())
	}
}

func TestLatchIsHeldByOneAtATime(t *testing.T) {
	l, held := work.NewLatch(), 0
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			l.Lock()
			defer l.Unlock()
			if held++; held > 1 {
				t.Error("two hold the latch")
			}
			held--
		})
	}
	all.Wait()
}
