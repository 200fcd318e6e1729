package harness

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/store"
)

var ctx = context.Background()

// Main runs the tests of a room, on the engine that E2E_ENGINE names, if any, and then cleans up.
func Main(m *testing.M, cleanup ...func()) {
	watchTime()
	dbtest.Only = os.Getenv("E2E_ENGINE") // the Makefile says why
	if os.Getenv("GOGC") == "" {          // hundreds of services in one process are no node
		_ = os.Setenv("GOGC", "400") // the daemon leaves it so
		debug.SetGCPercent(400)
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

// suite is all tests of a room, and then the proof that they saw what they were to see of the
// OpenAPI documents.
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
		fmt.Fprintln(os.Stderr, promised+" lists what no test of this room saw:\n\t"+strings.Join(unseen, "\n\t"))
		return 1
	}
	return 0
}

// partial reports whether only some of the tests were asked for.
func partial() bool {
	if dbtest.Only == "postgres" {
		return true
	}
	for _, name := range []string{"test.run", "test.skip", "test.list", "test.fuzz", "test.short"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != "" && f.Value.String() != "false" {
			return true
		}
	}
	return false
}
