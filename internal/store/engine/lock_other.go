//go:build !unix

package engine

import (
	"errors"
	"os"
)

// lockFile fails: the system has no lock that ends with its process.
func lockFile(*os.File) error { return errors.ErrUnsupported }
