package dbtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Server is a PostgreSQL of a test's own, which it may stop, freeze and promote.
type Server struct {
	instance
	t testing.TB
}

// Alone starts a server that waits for its disk, or a standby, as one in service does.
func Alone(t testing.TB) *Server {
	t.Helper()
	return alone(t, memory())
}

func alone(t testing.TB, in string) *Server {
	t.Helper()
	s := &Server{t: t}
	s.must(s.makeDir(in))
	s.stopAtEnd()
	s.must(s.do("initdb", "-D", s.data(), "-U", "app", "-A", "trust", "--no-sync", "--no-instructions", "-E", "UTF8", "--locale=C"))
	s.must(s.serve())
	return s
}

// Standby starts a server that follows this one.
func (s *Server) Standby() *Server {
	s.t.Helper()
	next := &Server{t: s.t}
	next.must(next.makeDir(memory()))
	next.stopAtEnd()
	next.must(next.do("pg_basebackup", "-h", s.dir, "-U", "app", "-D", next.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync"))
	next.must(next.serve())
	return next
}

// Host is a server, or a line before one.
type Host interface{ host() string }

func (s *Server) host() string { return s.dir }

// Address is that of the database on one of some hosts, in their order.
func Address(hosts ...Host) string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.host())
	}
	return "postgres:///postgres?host=" + strings.Join(names, ",") + "&user=app&sslmode=disable"
}

// Line puts a line before the server.
func (s *Server) Line() *Line { s.t.Helper(); return Behind(s.t, Address(s)) }

// Freeze stops the server's processes where they are: its connections stay open, and
// nothing is answered.
func (s *Server) Freeze() { s.t.Helper(); s.signal(syscall.SIGSTOP) }

// Thaw lets them go on.
func (s *Server) Thaw() { s.t.Helper(); s.signal(syscall.SIGCONT) }

// Kill ends the server as a crash does.
func (s *Server) Kill() {
	s.t.Helper()
	s.signal(syscall.SIGKILL)
	_ = s.process.Wait() // killed
}

// Promote makes a standby the primary.
func (s *Server) Promote() {
	s.t.Helper()
	s.must(s.do("pg_ctl", "promote", "-D", s.data(), "-w"))
}

// WaitFor sets the standbys that commits wait for: "*" for any one, "" for none.
func (s *Server) WaitFor(standbys string) {
	s.t.Helper()
	s.Exec("ALTER SYSTEM SET synchronous_standby_names = '" + standbys + "'")
	s.Exec("SELECT pg_reload_conf()")
}

// Exec runs a statement.
func (s *Server) Exec(statement string) {
	s.t.Helper()
	s.must(s.exec(context.Background(), statement))
}

func (s *Server) signal(signal syscall.Signal) {
	s.t.Helper()
	s.must(signalFamily(s.process.Process.Pid, signal))
}

// signalFamily reaches a server and its children, which have groups of their own.
func signalFamily(pid int, signal syscall.Signal) error {
	pids := []int{pid}
	found, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			child, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			if err != nil {
				return err
			}
			pids = append(pids, child)
		}
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, signal); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	return nil
}

func (s *Server) stopAtEnd() {
	s.t.Cleanup(func() {
		if s.process != nil && s.process.Process != nil {
			s.signal(syscall.SIGCONT)
		}
		s.stop()
	})
}

func (s *Server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(fmt.Errorf("the test's PostgreSQL: %w", err))
	}
}
