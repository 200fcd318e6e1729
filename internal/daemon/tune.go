package daemon

import (
	"os"
	"runtime"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// memoryLimit is what the process's memory is kept below, if it can be: seven times what a busy
// node takes. Of a smaller machine or container it is three quarters.
const memoryLimit, memoryShare = 1 << 30, 0.75

// tuned is done once in a process.
var tuned sync.Once

// tune sets up the process for a service on a database, once; GOGC, GOMEMLIMIT and GOMAXPROCS overrule it.
//
// The heap grows further between collections than Go's default (paceHeap).
//
// There are two more processors than cores, one for each committer: Go looks for
// answers on the network when a processor runs out of work, and on a busy node the
// database's answer waited behind dozens of requests, with the database idle.
func tune(database string) {
	tuned.Do(func() { setUp(database) })
}

func setUp(database string) {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		paceHeap(budget(database), memoryOf(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem)))
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	}
}

// memoryOf is the limit where so much memory is available, as far as that is known.
func memoryOf(available memlimit.Provider) int64 {
	share, err := memlimit.ApplyRatio(available, memoryShare)()
	if err != nil || share == 0 {
		return memoryLimit
	}
	return int64(min(share, memoryLimit))
}
