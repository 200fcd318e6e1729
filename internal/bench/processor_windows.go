package bench

import (
	"syscall"
	"time"
)

// processorTime is the CPU time that this process has used.
func processorTime() (time.Duration, error) {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0, err
	}
	var created, ended, kernel, user syscall.Filetime
	err = syscall.GetProcessTimes(self, &created, &ended, &kernel, &user)
	const unit = 100 * time.Nanosecond
	return (ticks(kernel) + ticks(user)) * unit, err
}

// ticks is a time of Windows as a number of its units.
func ticks(t syscall.Filetime) time.Duration {
	return time.Duration(t.HighDateTime)<<32 | time.Duration(t.LowDateTime)
}
