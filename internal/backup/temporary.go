package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// temporaries matches the names of files that Temporary makes.
var temporaries = regexp.MustCompile(`^\.cascada-copy-\d+$`)

// besides are the suffixes of the files that SQLite puts beside a database.
var besides = []string{"", "-wal", "-shm", "-journal"}

// Temporary makes an empty file beside another one, readable only by its owner. It also
// removes the temporary files there of killed processes, because they may be whole copies
// in clear text. drop removes the file and what SQLite put beside it; call it after the
// file is closed.
func Temporary(beside string) (path string, drop func(), err error) {
	dir := filepath.Dir(beside)
	sweep(dir)
	for {
		file, err := os.CreateTemp(dir, ".cascada-copy-*")
		if err != nil {
			return "", nil, err
		}
		path = file.Name()
		// While it is locked, its process lives. A process that sweeps at this moment may have
		// removed it.
		locked := lock(file)
		if made, err := os.Stat(path); err == nil && (locked == nil || errors.Is(locked, errors.ErrUnsupported)) && same(file, made) {
			return path, func() { remove(path); file.Close() }, nil
		}
		remove(path)
		file.Close()
		if locked != nil && !held(locked) {
			return "", nil, locked
		}
	}
}

func same(file *os.File, info fs.FileInfo) bool {
	own, err := file.Stat()
	return err == nil && os.SameFile(own, info)
}

// remove removes a file and what SQLite put beside it. Missing files are fine.
func remove(path string) {
	for _, end := range besides {
		_ = os.Remove(path + end)
	}
}

// sweep removes the temporary files of dead processes. It leaves files that it may not
// open.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !temporaries.MatchString(e.Name()) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if lock(file) == nil {
			remove(path)
		}
		file.Close()
	}
}
