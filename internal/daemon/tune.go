package daemon

import (
	"log/slog"
	"os"
	"runtime"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memoryLimit is the limit on the process's memory, if possible: seven times the use of a
// busy node. On a smaller machine or container it is three quarters of the memory.
const memoryLimit, memoryShare = 1 << 30, 0.75

// tuned makes tune run once in a process.
var tuned sync.Once

// tune sets up the process for a service on a database, once; GOGC, GOMEMLIMIT and
// GOMAXPROCS override it.
//
// The heap grows further between collections than with Go's default (paceHeap).
//
// There are two more processors than cores, one for each committer: Go polls the network
// when a processor runs out of work, and on a busy node the database's answer waited behind
// dozens of requests while the database was idle.
func tune(database string, log *slog.Logger) {
	tuned.Do(func() { setUp(database, log) })
}

func setUp(database string, log *slog.Logger) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		paceHeap(budget(database), memoryOf(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)), log)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	}
}

// memoryOf is the limit for the available memory, if that is known.
func memoryOf(available memlimit.Provider) int64 {
	share, err := memlimit.ApplyRatio(available, memoryShare)()
	if err != nil || share == 0 {
		return memoryLimit
	}
	return int64(min(share, memoryLimit))
}
