package harness

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// running holds the tests whose service is up: name to start time.
var running sync.Map

// watchTime ends a run shortly before go test's timeout, and lists the tests whose service is up.
// go test would print every goroutine, and nobody finds the hanging test among them.
func watchTime() {
	flag.Parse()
	limit := flag.Lookup("test.timeout").Value.(flag.Getter).Get().(time.Duration)
	if limit <= 0 {
		return
	}
	time.AfterFunc(limit-limit/20, func() {
		var lines []string
		running.Range(func(name, since any) bool {
			lines = append(lines, fmt.Sprintf("%8s %s", time.Since(since.(time.Time)).Round(time.Second), name))
			return true
		})
		slices.Sort(lines)
		fmt.Fprintf(os.Stderr, "The tests take too long. These tests have a service up, for so long:\n")
		for _, line := range lines {
			fmt.Fprintln(os.Stderr, line)
		}
		os.Exit(2)
	})
}

// Soon returns the next value of a channel, or the zero value if the channel is closed. It ends the
// test after Patience. what says what the test waits for.
func Soon[T any](t *testing.T, what string, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(Patience):
		t.Fatalf("waited %s for %s", Patience, what)
	}
	return got
}

// up records until the test ends that its service is up.
func up(t *testing.T) {
	running.Store(t.Name(), time.Now())
	t.Cleanup(func() { running.Delete(t.Name()) })
}

// Patience is how long a test waits for something that the service does by itself.
const Patience = time.Minute

// Eventually polls done until it returns true: every 5 ms, and after a while every twentieth of the time waited so far,
// 50 ms at most, because each look is a request that takes the machine from other tests. It ends the test after
// Patience. what states the condition, for the failure message.
func Eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); {
		waited := time.Since(began)
		if waited > Patience {
			t.Fatalf("after %s it is still not true that %s", Patience, what)
		}
		time.Sleep(min(max(waited/20, 5*time.Millisecond), 50*time.Millisecond))
	}
}

// Must ends the test on an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Clock is the system's clock plus what the test added. The zero value is ready to use.
type Clock struct {
	offset atomic.Int64
	frozen atomic.Int64 // nanoseconds since 1970 when it stands still, else 0
}

// Now returns the time that the service sees.
func (c *Clock) Now() time.Time {
	at := time.Now()
	if still := c.frozen.Load(); still != 0 {
		at = time.Unix(0, still)
	}
	return at.Add(time.Duration(c.offset.Load()))
}

// Freeze stops the clock: from now on only Advance moves it.
func (c *Clock) Freeze() { c.frozen.Store(time.Now().UnixNano()) }

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) { c.offset.Add(int64(d)) }
