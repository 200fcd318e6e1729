//go:build unix

package bench

import (
	"syscall"
	"time"
)

// processorTime is the CPU time that this process has used.
func processorTime() (time.Duration, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}
