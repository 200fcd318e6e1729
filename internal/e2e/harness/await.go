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

// running holds the tests whose service is up: since when, by name.
var running sync.Map

// watchTime ends a run that is about to be too long, and says what it waits for. The trace of
// every goroutine, with which go test ends it, is too long to find that in.
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
		fmt.Fprintf(os.Stderr, "The tests take too long. Their services that are up, and for how long:\n")
		for _, line := range lines {
			fmt.Fprintln(os.Stderr, line)
		}
		os.Exit(2)
	})
}

// Soon returns what comes on a channel, or the zero value when it is closed. It does not wait for ever.
func Soon[T any](t *testing.T, what string, from <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(Patience):
		t.Fatalf("%s: nothing happened in %s", what, Patience)
	}
	return got
}

// up notes that a test's service is up, until the test ends.
func up(t *testing.T) {
	running.Store(t.Name(), time.Now())
	t.Cleanup(func() { running.Delete(t.Name()) })
}

// Patience is how long a test waits for what happens by itself.
const Patience = time.Minute

// Eventually waits until done says so.
func Eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(Patience); !done(); <-look.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited %s in vain until %s", Patience, what)
		}
	}
}

// Must ends the test on an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Clock is the system's clock, moved forward by the test.
type Clock struct {
	offset atomic.Int64
	frozen atomic.Int64 // nanoseconds since 1970 when it stands still, else 0
}

// Now is what the service takes for the time.
func (c *Clock) Now() time.Time {
	at := time.Now()
	if still := c.frozen.Load(); still != 0 {
		at = time.Unix(0, still)
	}
	return at.Add(time.Duration(c.offset.Load()))
}

// Freeze stops the clock, so that it moves by the test alone.
func (c *Clock) Freeze() { c.frozen.Store(time.Now().UnixNano()) }

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) { c.offset.Add(int64(d)) }
