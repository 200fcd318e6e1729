package daemon

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// tune sets up the process, once; GOGC and GOMAXPROCS overrule it.
//
// The heap grows further between collections: with the default a quarter of the
// time of a payment went to the collector, while the heap of a busy service is a
// few tens of megabytes.
//
// There are two more processors than cores, one for each committer: Go looks for
// answers on the network when a processor runs out of work, and on a busy node the
// database's answer waited behind dozens of requests, with the database idle.
var tune = sync.OnceFunc(func() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 2)
	}
})
