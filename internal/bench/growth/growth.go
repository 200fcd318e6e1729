// Package growth measures, for tests, that reading an input costs no more than its size: no parser, list of errors or matcher may
// grow faster than what a stranger sends. It compares memory, which is the same in each run; processor time only has a bound that
// is far above what any input costs, and far below what one costs that is compared with itself.
package growth

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// most is the most by which an input of twice the size may cost more, in memory and in the length of its errors.
	most = 2.5
	// slack is memory that does not count: buffers are of fixed sizes.
	slack = 64 << 10
	// mostTime is the most processor time of one input, with the race detector on a slow machine: far more than a parser takes, and far less
	// than one that looks at each part for each other part.
	mostTime = 30 * time.Second
	// mostMemory is when memory is collected nevertheless, so that a mistake does not take all of the machine's.
	mostMemory = 1 << 30
	// tries is how often memory is measured until it fits: others may allocate at the same time.
	tries = 3
)

// Of reads inputs of half a size and of the whole size, and fails the test where the larger one costs more than it should. read
// returns how many bytes or items it tells about the input. Call it where nothing else runs: not in a parallel test.
func Of(t testing.TB, what string, size int, input func(size int) string, read func(input string) (told int)) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // collecting is done by whoever allocates, at times that differ
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(mostMemory))
	small, large := input(size/2), input(size)
	for try := 1; ; try++ {
		half, tellsHalf, _ := cost(t, small, read)
		whole, tells, took := cost(t, large, read)
		if took > mostTime {
			t.Fatalf("%s: %d bytes cost %v", what, len(large), took)
		}
		if float64(tells) > most*float64(tellsHalf)+slack {
			t.Fatalf("%s: of %d bytes it tells %d, and of %d bytes %d", what, len(small), tellsHalf, len(large), tells)
		}
		if float64(whole) <= most*float64(half)+slack {
			return
		}
		if try == tries {
			t.Fatalf("%s: %d bytes take %d bytes of memory, and %d bytes %d", what, len(small), half, len(large), whole)
		}
	}
}

// cost is the memory and the time that an input costs, and how long its errors are.
func cost(t testing.TB, input string, read func(string) int) (memory uint64, told int, took time.Duration) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := threadTime(t)
	told = read(input)
	took = threadTime(t) - began
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, told, took
}

// threadTime is the processor time of this thread.
func threadTime(t testing.TB) time.Duration {
	t.Helper()
	var used unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Nano())
}

// Repeated makes inputs that repeat a text between a beginning and an end.
func Repeated(begin, text, end string) func(size int) string {
	return func(size int) string { return begin + strings.Repeat(text, 1+size/len(text)) + end }
}

// Numbered is like Repeated, with a number in each text.
func Numbered(begin, format, end string) func(size int) string {
	return func(size int) string {
		var b strings.Builder
		b.WriteString(begin)
		for i := 0; b.Len() < size; i++ {
			_, _ = fmt.Fprintf(&b, format, i)
		}
		return b.String() + end
	}
}
