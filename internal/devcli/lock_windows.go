package devcli

import (
	"errors"
	"os"
	"syscall"
)

// sharingViolation is the error of a file that another process has for itself.
const sharingViolation = syscall.Errno(32)

// lockFile opens a file that no other process has open. The system lets go of it when the process ends, however it ends.
func lockFile(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, errListening
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(handle), path), nil
}
