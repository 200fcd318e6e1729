package daemon

import (
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"

	"github.com/cascadapay/cascada/internal/store/engine"
)

// How much memory the Go runtime takes before it collects garbage.
//
// A busy node's heap is a few tens of megabytes, and with Go's default a quarter of the
// time of a payment went to the collector. So the heap may grow nine times, until the process
// has taken its budget. With a thousand clients more than half of that lives, and most of
// it is stacks: the heap then grows by half of what lives in it, for about a tenth
// of the time in place of 500 MB.
const (
	heapGrowth   = 800       // percent
	memoryBudget = 192 << 20 // bytes, with stacks; the program's own pages come on top
	sqlitePages  = 48 << 20  // bytes that SQLite takes of it, which the runtime does not see
)

// budget is how much the runtime may take (bytes).
func budget(database string) int64 {
	if _, err := engine.FilePath(database); err == nil {
		return memoryBudget - sqlitePages
	}
	return memoryBudget
}

// paceHeap holds the runtime to the budget (bytes), or to what it needs where that is more, and
// always to most (bytes).
func paceHeap(budget, most int64) {
	debug.SetGCPercent(heapGrowth)
	debug.SetMemoryLimit(min(budget, most))
	taken := []runtimemetrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
	}
	var collected func(struct{})
	collected = func(struct{}) {
		runtimemetrics.Read(taken)
		besides := taken[1].Value.Uint64() - taken[2].Value.Uint64() - taken[3].Value.Uint64() - taken[4].Value.Uint64()
		debug.SetMemoryLimit(min(max(budget, needed(taken[0].Value.Uint64(), besides)), most))
		runtime.AddCleanup(new([64]byte), collected, struct{}{})
	}
	collected(struct{}{})
}

// needed is the limit (bytes) where so much lives in the heap, and so much is taken besides it.
func needed(live, besides uint64) int64 {
	return int64(live + live/2 + besides)
}
