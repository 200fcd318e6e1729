package store

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Many who ask while a read is under way share one that begins after they came.
func TestLooksAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLook[int64]()
		var reads, written atomic.Int64
		gate := make(chan struct{})
		read := func(context.Context) (int64, error) {
			reads.Add(1)
			n := written.Load()
			<-gate
			return n, nil
		}
		var all sync.WaitGroup
		ask := func(least int64) {
			all.Go(func() {
				if n, err := l.get(t.Context(), read); err != nil || n < least {
					t.Errorf("somebody who came after %d got %d (%v)", least, n, err)
				}
			})
		}
		ask(0)
		synctest.Wait()
		for range 5 {
			ask(written.Add(1))
			synctest.Wait()
		}
		gate <- struct{}{} // the first has its answer
		synctest.Wait()
		for range 3 { // while the second is read
			ask(written.Add(1))
		}
		synctest.Wait()
		close(gate)
		all.Wait()
		if reads.Load() != 3 {
			t.Errorf("9 asked in three groups, and %d reads were made", reads.Load())
		}
	})
}

// Who stops waiting holds nobody up. An error is for all that share it.
func TestLookHasOneErrorForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLook[int]()
		fails := errors.New("away")
		gate := make(chan error)
		reads := 0
		read := func(context.Context) (int, error) {
			reads++ // one at a time
			return 7, <-gate
		}
		answers := make(chan error, 10)
		ask := func(ctx context.Context) {
			go func() {
				_, err := l.get(ctx, read)
				answers <- err
			}()
			synctest.Wait()
		}
		leaving, leave := context.WithCancel(t.Context())
		ask(t.Context()) // reads
		ask(t.Context()) // reads next
		ask(leaving)     // shares that
		ask(t.Context()) // too
		leave()
		if err := <-answers; !errors.Is(err, context.Canceled) {
			t.Errorf("who stopped waiting got %v", err)
		}
		gate <- nil
		if err := <-answers; err != nil {
			t.Errorf("the first got %v", err)
		}
		gate <- fails
		for range 2 {
			if err := <-answers; !errors.Is(err, fails) {
				t.Errorf("a failed read was told as %v", err)
			}
		}
		go func() { gate <- nil }()
		if n, err := l.get(t.Context(), read); n != 7 || err != nil || reads != 3 {
			t.Errorf("afterwards: %d, %v after %d reads", n, err, reads)
		}
	})
}

// Whoever stops waiting is free at once, also if he reads for others, or waits for his turn to: they have their answer
// without him.
func TestLookLetsItsReaderGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLook[int]()
		frozen := func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, ctx.Err() }
		answers := func(context.Context) (int, error) { return 7, nil }
		ended := make(chan error, 2)
		leaving, leave := context.WithCancel(t.Context())
		later, leaveLater := context.WithCancel(t.Context())
		for _, ctx := range []context.Context{leaving, later} {
			go func() {
				_, err := l.get(ctx, frozen)
				ended <- err
			}()
			synctest.Wait()
		}
		stays := make(chan int, 1)
		go func() { // shares the read of the one whose turn comes
			n, err := l.get(t.Context(), answers)
			if err != nil {
				t.Error(err)
			}
			stays <- n
		}()
		synctest.Wait()
		for _, end := range []func(){leaveLater, leave} {
			end()
			synctest.Wait()
			select {
			case err := <-ended:
				if !errors.Is(err, context.Canceled) {
					t.Errorf("who stopped waiting got %v", err)
				}
			default:
				t.Fatal("who stopped waiting is held up by a database that does not answer")
			}
		}
		if n := <-stays; n != 7 {
			t.Errorf("who stayed got %d", n)
		}
	})
}

// A panic of the one who reads is his alone: a loop goes on after it, and so do the others.
func TestLookSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLook[int]()
		gate := make(chan struct{})
		went := make(chan any, 1)
		go func() {
			defer func() { went <- recover() }()
			_, _ = l.get(t.Context(), func(context.Context) (int, error) { <-gate; panic("a fault") }) // returns nothing
		}()
		synctest.Wait()
		answers := make(chan int, 3)
		for range cap(answers) {
			go func() {
				n, err := l.get(t.Context(), func(context.Context) (int, error) { return 7, nil })
				if err != nil {
					t.Error(err)
				}
				answers <- n
			}()
		}
		synctest.Wait()
		close(gate)
		if reason := <-went; reason != "a fault" {
			t.Errorf("the panic became %v", reason)
		}
		for range cap(answers) {
			if n := <-answers; n != 7 {
				t.Errorf("another got %d", n)
			}
		}
	})
}
