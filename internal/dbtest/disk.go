package dbtest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Disk is a test's own file system, which the test may fill.
type Disk struct {
	t   testing.TB
	dir string
}

// NewDisk mounts a disk of size MiB. Only root may mount: for other users the test is
// skipped.
func NewDisk(t testing.TB, size string) *Disk {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cascada-disk")
	if err != nil {
		t.Fatal(err)
	}
	err = syscall.Mount("cascada", dir, "tmpfs", 0, "mode=0755,size="+size+"m")
	if errors.Is(err, syscall.EPERM) {
		os.Remove(dir)
		t.Skip("only root may mount a disk")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
		os.Remove(dir)
	})
	return &Disk{t, dir}
}

// SQLite returns the address of a database file on the disk.
func (d *Disk) SQLite() string { return "sqlite:" + filepath.Join(d.dir, "cascada.db") }

// Postgres starts a server with its data on the disk.
func (d *Disk) Postgres() *Server {
	d.t.Helper()
	return alone(d.t, d.dir)
}

func (d *Disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// Fill uses up all space.
func (d *Disk) Fill() {
	d.t.Helper()
	f, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			d.t.Fatal(err)
		}
	}
}

// Spare frees so many bytes of a disk that is full.
func (d *Disk) Spare(bytes int64) {
	d.t.Helper()
	info, err := os.Stat(d.ballast())
	if err == nil {
		err = os.Truncate(d.ballast(), info.Size()-bytes)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// Free frees the space again.
func (d *Disk) Free() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		d.t.Fatal(err)
	}
}

// Revive restarts a server that has ended.
func (s *Server) Revive() {
	s.t.Helper()
	if s.process.ProcessState == nil && syscall.Kill(s.process.Process.Pid, 0) == nil {
		var status syscall.WaitStatus
		if pid, _ := syscall.Wait4(s.process.Process.Pid, &status, syscall.WNOHANG, nil); pid == 0 {
			return
		}
	}
	s.must(s.serve())
}
