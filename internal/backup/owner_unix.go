//go:build unix

package backup

import (
	"os"
	"syscall"
)

// Inherit gives a file that root has made to the owner of another one, or of a directory: who serves a
// database has to be able to write what root puts back. Anybody else's files are his own.
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
