//go:build unix

package backup

import (
	"errors"
	"os"
	"syscall"
)

// lock locks a file for this process, or fails at once.
func lock(file *os.File) error {
	return os.NewSyscallError("flock", syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
}

// held reports whether a lock failed because another process has it.
func held(err error) bool { return errors.Is(err, syscall.EWOULDBLOCK) }
