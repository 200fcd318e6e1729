package dbtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Bouncer starts a pgbouncer before the server, in a pool mode (session, transaction or statement), and
// returns the address of the database behind it.
func (s *Server) Bouncer(mode string) string {
	s.t.Helper()
	return bouncer(s.t, &s.instance, mode)
}

func bouncer(t testing.TB, s *instance, mode string) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	program, err := exec.LookPath("pgbouncer")
	must(err)
	b := &instance{}
	must(b.makeDir(memory()))
	t.Cleanup(b.stop)
	config := filepath.Join(b.dir, "pgbouncer.ini")
	must(os.WriteFile(config, fmt.Appendf(nil, `[databases]
postgres = host=%s dbname=postgres user=app
[pgbouncer]
listen_addr =
unix_socket_dir = %s
auth_type = any
pool_mode = %s
`, s.dir, b.dir, mode), 0o644))
	b.process = exec.Command(program, "-q", config)
	b.process.Dir, b.process.SysProcAttr = b.dir, b.attr
	must(launch(b.process))
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for ; ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(b.dir, ".s.PGSQL.6432")); err == nil {
			return "postgres:///postgres?host=" + b.dir + "&port=6432&user=app&sslmode=disable"
		}
		if ctx.Err() != nil || b.process.Process.Signal(syscall.Signal(0)) != nil {
			t.Fatal("pgbouncer does not start")
		}
	}
}
