// Package heap lets a command's heap grow before it is collected: most commands end before that. It needs no other package, so Go
// initializes it before most others, and what they make is not collected twice before main begins.
package heap

import (
	"os"
	"runtime/debug"
)

// growth is how much the heap grows before it is collected, in percent. serve has its own (daemon).
const growth = 400

func init() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" { // otherwise the operator's settings apply
		debug.SetGCPercent(growth)
	}
}
