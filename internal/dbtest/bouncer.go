package dbtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Bouncer is a pgbouncer in front of a server.
type Bouncer struct {
	Address string // of the database, through the pooler

	instance
	t        testing.TB
	database string // the server's directory
}

// room is the number of sessions of a pooler: more than some nodes and commands need.
const room = 100

// Bouncer starts a pgbouncer in front of the server, in a pool mode (session, transaction
// or statement).
func (s *Server) Bouncer(mode string) *Bouncer {
	s.t.Helper()
	b := &Bouncer{t: s.t, database: s.dir}
	b.must(b.makeDir(memory()))
	b.Address = "postgres:///postgres?host=" + b.dir + "&port=6432&user=app&sslmode=disable"
	s.t.Cleanup(b.stop)
	b.Start(mode)
	return b
}

// Start starts it in a pool mode.
func (b *Bouncer) Start(mode string) {
	b.t.Helper()
	program, err := exec.LookPath("pgbouncer")
	b.must(err)
	b.must(b.configure(mode))
	b.process = exec.Command(program, "-q", b.file())
	b.process.Dir, b.process.SysProcAttr = b.dir, b.attr
	b.must(launch(b.process))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		conn, err := net.Dial("unix", filepath.Join(b.dir, ".s.PGSQL.6432"))
		if err == nil {
			b.must(conn.Close())
			return
		}
		if ctx.Err() != nil || b.process.Process.Signal(syscall.Signal(0)) != nil {
			b.t.Fatal("pgbouncer does not start")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (b *Bouncer) file() string { return filepath.Join(b.dir, "pgbouncer.ini") }

func (b *Bouncer) configure(mode string) error {
	return os.WriteFile(b.file(), fmt.Appendf(nil, `[databases]
postgres = host=%s dbname=postgres user=app
[pgbouncer]
listen_addr =
unix_socket_dir = %s
auth_type = any
pool_mode = %s
default_pool_size = %d
`, b.database, b.dir, mode, room), 0o644)
}

// Kill ends it like a crash, with every connection through it.
func (b *Bouncer) Kill() {
	b.t.Helper()
	b.must(b.process.Process.Kill())
	_ = b.process.Wait() // killed
}

// Turn changes a running pooler's pool mode.
func (b *Bouncer) Turn(mode string) {
	b.t.Helper()
	b.must(b.configure(mode))
	b.must(b.process.Process.Signal(syscall.SIGHUP))
}

func (b *Bouncer) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(fmt.Errorf("the test's pgbouncer: %w", err))
	}
}
