//go:build unix

package engine

import (
	"os"
	"syscall"
)

// lockFile locks a file for this process, or fails at once.
func lockFile(file *os.File) error {
	return os.NewSyscallError("flock", syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
}
