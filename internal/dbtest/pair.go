package dbtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a test's own PostgreSQL, which the test may stop, freeze and promote.
type Server struct {
	instance
	t testing.TB
}

// Alone starts a server that waits for its disk and can have a standby, like one in production.
func Alone(t testing.TB) *Server {
	t.Helper()
	once(t)
	return alone(t, memory())
}

func alone(t testing.TB, in string, settings ...string) *Server {
	t.Helper()
	s := &Server{t: t}
	s.must(s.makeDir(in))
	s.stopAtEnd()
	s.must(s.initialize())
	s.must(s.serve(settings...))
	return s
}

// pristine has the data of a new server, and is never started.
var pristine instance

// initialized makes the data of pristine.
var initialized = sync.OnceValue(func() error {
	if err := pristine.makeDir(memory()); err != nil {
		return err
	}
	return pristine.do("initdb", "-D", pristine.data(), "-U", "app", "-A", "trust", "--no-sync", "--no-instructions", "-E", "UTF8", "--locale=C")
})

// initialize makes the data of a server. initdb runs once in a process: it takes a second of the processor.
func (s *Server) initialize() error {
	if err := initialized(); err != nil {
		return err
	}
	copies := exec.Command("cp", "-a", pristine.data(), s.data())
	copies.SysProcAttr = s.attr
	if out, err := copies.CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", pristine.data(), err, out)
	}
	return nil
}

// Archiving starts a server that archives its WAL, so that it can be restored to a moment.
func Archiving(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t}
	s.must(s.makeDir(memory()))
	s.stopAtEnd()
	s.mkdir(s.archive())
	s.must(s.initialize())
	s.must(s.serve("-c", "archive_mode=on", "-c", "archive_command=test ! -f "+s.archive()+"/%f && cp %p "+s.archive()+"/%f"))
	return s
}

// mkdir creates a directory that belongs to the server's user.
func (s *Server) mkdir(path string) {
	s.t.Helper()
	s.must(os.Mkdir(path, 0o700))
	if to := s.attr.Credential; to != nil {
		s.must(os.Chown(path, int(to.Uid), int(to.Gid)))
	}
}

func (s *Server) archive() string { return filepath.Join(s.dir, "archive") }

// Base takes a base backup, from which PutBack makes a server.
func (s *Server) Base() *Server {
	s.t.Helper()
	base := &Server{t: s.t}
	base.must(base.makeDir(memory()))
	base.stopAtEnd()
	base.must(base.do("pg_basebackup", "-h", s.dir, "-U", "app", "-D", base.data(), "-X", "stream", "-c", "fast", "--no-sync"))
	return base
}

// PutBack starts a base backup in the state of the other server at a moment, from that
// server's archive.
func (s *Server) PutBack(of *Server, to time.Time) {
	s.t.Helper()
	settings, err := os.OpenFile(filepath.Join(s.data(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	s.must(err)
	_, err = fmt.Fprintf(settings, "restore_command = 'cp %s/%%f %%p'\nrecovery_target_time = '%s'\nrecovery_target_action = 'promote'\n",
		of.archive(), to.UTC().Format("2006-01-02 15:04:05.999999+00"))
	s.must(errors.Join(err, settings.Close()))
	s.must(os.WriteFile(filepath.Join(s.data(), "recovery.signal"), nil, 0o600))
	s.must(s.serve())
	for s.query("SELECT pg_is_in_recovery()") {
		time.Sleep(10 * time.Millisecond)
	}
}

// Archived waits until everything written so far is in the archive.
func (s *Server) Archived() {
	s.t.Helper()
	s.Exec("CREATE TABLE IF NOT EXISTS archived (name text)")
	s.Exec("INSERT INTO archived SELECT pg_walfile_name(pg_switch_wal())")
	for s.query("SELECT coalesce((SELECT last_archived_wal FROM pg_stat_archiver), '') < (SELECT max(name) FROM archived)") {
		time.Sleep(10 * time.Millisecond)
	}
}

// query runs a query with a boolean result.
func (s *Server) query(statement string) (yes bool) {
	s.t.Helper()
	conn, err := pgx.Connect(context.Background(), s.dsn("postgres"))
	s.must(err)
	defer conn.Close(context.Background())
	s.must(conn.QueryRow(context.Background(), statement).Scan(&yes))
	return yes
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

// Host is a server, or a line in front of one.
type Host interface{ host() string }

func (s *Server) host() string { return s.dir }

// Address returns the address of the database on one of several hosts, in their order.
func Address(hosts ...Host) string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.host())
	}
	return "postgres:///postgres?host=" + strings.Join(names, ",") + "&user=app&sslmode=disable"
}

// Line puts a line in front of the server.
func (s *Server) Line() *Line { s.t.Helper(); return Behind(s.t, Address(s)) }

// Freeze pauses the server's processes: its connections stay open, and nothing is answered.
func (s *Server) Freeze() { s.t.Helper(); s.signal(syscall.SIGSTOP) }

// Thaw lets them continue.
func (s *Server) Thaw() { s.t.Helper(); s.signal(syscall.SIGCONT) }

// Kill ends the server like a crash.
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

// Errors lists the failed statements in the server's log since its last start.
func (s *Server) Errors() (lines []string) {
	s.t.Helper()
	log, err := os.ReadFile(filepath.Join(s.dir, "log"))
	s.must(err)
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "ERROR:") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

func (s *Server) signal(signal syscall.Signal) {
	s.t.Helper()
	s.must(signalFamily(s.process.Process.Pid, signal))
}

// signalFamily signals a server and its children, which have their own groups.
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
