package harness

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/store"
)

var ctx = context.Background()

// Main runs the tests of a room on the engine that E2E_ENGINE names, or on both, and then runs
// cleanup. A run of all tests fails if they did not see what the room's promises.txt lists.
func Main(m *testing.M, cleanup ...func()) {
	watchTime()
	dbtest.Keep = true
	dbtest.OnlyFrom = "E2E_ENGINE" // the Makefile says why
	dbtest.GrowHeap()              // before GOGC is set: with it, GrowHeap does nothing
	if os.Getenv("GOGC") == "" {
		_ = os.Setenv("GOGC", "400") // then the daemon keeps it: its own setting is for one service in a process, not for hundreds
	}
	dbtest.Prepare = func(ctx context.Context, database string) error {
		s, err := store.Open(ctx, database, store.Options{})
		if err == nil {
			s.Close()
		}
		return err
	}
	dbtest.Main(suite{m}, cleanup...)
}

// suite is all tests of a room, and then the proof that they saw what the room promises to see of
// the OpenAPI documents.
type suite struct{ m *testing.M }

// Run is for dbtest.Main.
func (s suite) Run() int {
	code := s.m.Run()
	if code != 0 || partial() {
		return code
	}
	unseen, err := unkept()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if len(unseen) > 0 {
		fmt.Fprintln(os.Stderr, "no test of this room saw these lines of "+promised+":\n\t"+strings.Join(unseen, "\n\t"))
		return 1
	}
	return 0
}

// partial reports whether this run leaves out tests, so that it cannot see every promise.
func partial() bool {
	if dbtest.Only() == "postgres" {
		return true
	}
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz", "test.short"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" && f.Value.String() != "false" {
			return true
		}
	}
	return false
}
