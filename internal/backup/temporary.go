package backup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// temporaries are the names of files that Temporary makes.
var temporaries = regexp.MustCompile(`^\.cascada-copy-\d+$`)

// besides are the ends of the names of what SQLite puts beside a file.
var besides = []string{"", "-wal", "-shm", "-journal"}

// Temporary makes an empty file beside another one, for its owner alone, and removes those there of
// processes that were killed: they may be whole copies in clear. drop removes it, with what SQLite put beside
// it, and is called when nobody has it open any more.
func Temporary(beside string) (path string, drop func(), err error) {
	dir := filepath.Dir(beside)
	sweep(dir)
	for {
		file, err := os.CreateTemp(dir, ".cascada-copy-*")
		if err != nil {
			return "", nil, err
		}
		path = file.Name()
		// As long as it is locked its process lives. Who sweeps at this moment may have been faster.
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

// remove removes a file with what SQLite puts beside it. What is not there need not be removed.
func remove(path string) {
	for _, end := range besides {
		_ = os.Remove(path + end)
	}
}

// sweep removes the temporaries of processes that are gone. What it may not look at it leaves: whoever
// needs the room is told when there is none.
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
