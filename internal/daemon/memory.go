package daemon

import (
	"os"
	"runtime/debug"
)

// tuneGC lets the heap grow further between collections: with the default a
// quarter of the time of a payment went to the collector, while the heap of a
// busy service is a few tens of megabytes. GOGC overrules it.
func tuneGC() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(800)
	}
}
