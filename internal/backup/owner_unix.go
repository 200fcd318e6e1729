//go:build unix

package backup

import (
	"os"
	"syscall"
)

// Inherit gives a file that root created the owner of another file or directory, so that
// the service can write to what root restored. For other users it does nothing.
func Inherit(file, like string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(like)
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		return os.Lchown(file, int(owner.Uid), int(owner.Gid))
	}
	return nil
}
