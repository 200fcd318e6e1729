package dbtest

import (
	"os"
	"path/filepath"
	"testing"
)

// Durable starts a server on a disk, with what docs/OPERATIONS.md asks of one in service: what it said yes
// to is on that disk.
func Durable(t testing.TB) *Server {
	t.Helper()
	return alone(t, "/tmp", "-c", "fsync=on", "-c", "full_page_writes=on", "-c", "shared_buffers=256MB", "-c", "min_wal_size=2GB", "-c", "max_wal_size=4GB")
}

// Log is how much its write-ahead log takes on the disk, in bytes. What goes away meanwhile does not count.
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

// Process is the id of the server's first process, of which all others are children.
func (s *Server) Process() int { return s.process.Process.Pid }
