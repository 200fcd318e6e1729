package e2e

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
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
