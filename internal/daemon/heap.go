package daemon

import (
	"log/slog"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"

	"github.com/cascadapay/cascada/internal/store/engine"
)

// How much memory the Go runtime uses before it collects garbage.
//
// A busy node's heap is a few tens of megabytes, and with Go's default the collector took a
// quarter of a payment's time. So the heap may grow ninefold, up to the process's budget.
// With a thousand clients more than half of that is live, mostly stacks: then the heap
// grows by half of its live part, which takes about a tenth of the time instead of 500 MB.
const (
	heapGrowth   = 800       // percent
	memoryBudget = 192 << 20 // bytes, with stacks; the program's own pages come on top
	sqlitePages  = 48 << 20  // bytes of it for SQLite, which the runtime does not see
)

// budget is how much memory the runtime may use, in bytes.
func budget(database string) int64 {
	if _, err := engine.FilePath(database); err == nil {
		return memoryBudget - sqlitePages
	}
	return memoryBudget
}

// paceHeap keeps the runtime within the budget (bytes), or within what it needs if that is
// more, and always below most (bytes). Its pages are large, if the system has such.
func paceHeap(budget, most int64, log *slog.Logger) {
	debug.SetGCPercent(heapGrowth)
	if err := growHeap(min(budget, most)); err != nil {
		log.Info("the heap has small pages: the service works, but slower", "error", err)
	}
	runtime.GC() // what growHeap made room for is free
	debug.SetMemoryLimit(min(budget, most))
	samples := []runtimemetrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
	}
	var collected func(struct{})
	collected = func(struct{}) {
		runtimemetrics.Read(samples)
		besides := samples[1].Value.Uint64() - samples[2].Value.Uint64() - samples[3].Value.Uint64() - samples[4].Value.Uint64()
		debug.SetMemoryLimit(min(max(budget, needed(samples[0].Value.Uint64(), besides)), most))
		runtime.AddCleanup(new([64]byte), collected, struct{}{})
	}
	collected(struct{}{})
}

// needed is the limit (bytes) for a live heap and other memory of these sizes.
func needed(live, besides uint64) int64 {
	return int64(live + live/2 + besides)
}
