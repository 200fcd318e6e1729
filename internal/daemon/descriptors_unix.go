//go:build unix

package daemon

import "syscall"

// descriptors is how many files and connections the process may have open; 0 if unknown.
func descriptors() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || l.Cur > 1<<30 {
		return 0
	}
	return int(l.Cur)
}
