//go:build unix

package devcli

import (
	"errors"
	"os"
	"syscall"
)

// lockFile opens a file that no other process has open in this way. The system lets go of it when the process ends, however it ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errListening
		}
		return nil, err
	}
	return f, nil
}
