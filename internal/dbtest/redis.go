package dbtest

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// RedisServer is a real Redis that a test starts, and may stop
// and start again.
type RedisServer struct {
	URL     string
	socket  string
	more    []string
	process *exec.Cmd
}

// Redis returns a Redis that runs until the test ends. It has these options in addition to its own.
func Redis(t testing.TB, options ...string) *RedisServer {
	t.Helper()
	// Not t.TempDir: a socket's path is limited to 107 bytes.
	dir, err := os.MkdirTemp("/tmp", "cascada-redis")
	if err != nil {
		t.Fatal(err)
	}
	r := &RedisServer{socket: filepath.Join(dir, "redis.sock"), more: options}
	r.URL = "unix://" + r.socket
	t.Cleanup(func() {
		r.Kill(t)
		_ = os.RemoveAll(dir)
	})
	r.Start(t)
	return r
}

// Start starts the server, which is empty, and waits until it answers.
func (r *RedisServer) Start(t testing.TB) {
	t.Helper()
	options := append([]string{"--port", "0", "--unixsocket", r.socket, "--save", "", "--appendonly", "no", "--dir", filepath.Dir(r.socket)}, r.more...)
	r.process = exec.Command("redis-server", options...)
	r.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.process.Start(); err != nil {
		t.Fatalf("start Redis for the tests (make test installs it): %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for {
		c, err := net.Dial("unix", r.socket)
		if err == nil {
			_ = c.Close()
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("Redis does not answer: %v", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Kill ends the server like a crash of its machine.
func (r *RedisServer) Kill(t testing.TB) {
	t.Helper()
	if r.process == nil {
		return
	}
	if err := r.process.Process.Kill(); err != nil {
		t.Errorf("kill Redis: %v", err)
	}
	_ = r.process.Wait() // killed
	r.process = nil
}

// Freeze suspends the server until Thaw, like a machine
// that hangs: its connections stay open.
func (r *RedisServer) Freeze(t testing.TB) { r.signal(t, syscall.SIGSTOP) }

// Thaw ends Freeze.
func (r *RedisServer) Thaw(t testing.TB) { r.signal(t, syscall.SIGCONT) }

func (r *RedisServer) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := r.process.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
