package dbtest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Durable starts a server on a disk, with the settings that docs/OPERATIONS.md requires: everything that it
// confirmed is on that disk.
func Durable(t testing.TB) *Server {
	t.Helper()
	return alone(t, "/tmp", "-c", "fsync=on", "-c", "full_page_writes=on", "-c", "shared_buffers=256MB", "-c", "min_wal_size=2GB", "-c", "max_wal_size=4GB")
}

// Log returns the size of its WAL on the disk, in bytes, without files that were removed meanwhile.
func (s *Server) Log() (bytes int64) {
	s.t.Helper()
	files, err := os.ReadDir(filepath.Join(s.data(), "pg_wal"))
	s.must(err)
	for _, f := range files {
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
	}
	return bytes
}

// Process returns the id of the server's first process, which is the parent of all others.
func (s *Server) Process() int { return s.process.Process.Pid }

// CPU returns the CPU time of the server and all its children so far, including those that have ended.
func (s *Server) CPU() (total time.Duration) {
	s.t.Helper()
	const tick = 10 * time.Millisecond // of /proc, on every Linux that we know
	found, err := filepath.Glob("/proc/[0-9]*/stat")
	s.must(err)
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ") // the fields after the name: state, parent, …
		fields := strings.Fields(rest)
		first := filepath.Base(filepath.Dir(path)) == strconv.Itoa(s.Process())
		if len(fields) < 15 || !first && fields[1] != strconv.Itoa(s.Process()) {
			continue
		}
		spent := fields[11:13] // its own: user, system
		if first {
			spent = fields[11:15] // and of the children that have ended
		}
		for _, field := range spent {
			ticks, err := strconv.ParseInt(field, 10, 64)
			s.must(err)
			total += time.Duration(ticks) * tick
		}
	}
	return total
}
