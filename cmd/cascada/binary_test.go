package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// binary is the program under test, built once, as a user has it.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "cascada-bin")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "cascada")
	if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	dbtest.Main(m, func() { _ = os.RemoveAll(dir) })
}

// run runs the program in a directory to its end.
func run(t testing.TB, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, binary, args...)
	c.Dir = dir
	var out, log bytes.Buffer
	c.Stdout, c.Stderr = &out, &log
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), log.String(), c.ProcessState.ExitCode()
}

// server is a running cascada serve.
type server struct {
	t       testing.TB
	command *exec.Cmd
	url     string
	mu      sync.Mutex
	out     bytes.Buffer
	ended   chan struct{}
}

// serve starts the program and waits until it is ready.
func serve(t testing.TB, dir string, env []string, args ...string) *server {
	t.Helper()
	s := &server{t: t, command: exec.Command(binary, append([]string{"serve"}, args...)...), ended: make(chan struct{})}
	s.command.Dir, s.command.Env = dir, append(os.Environ(), env...)
	s.command.Stdout = s
	log, err := s.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.kill)
	ready := make(chan string, 1)
	go func() {
		defer close(s.ended)
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			line := lines.Text()
			if _, rest, ok := strings.Cut(line, `msg="cascada is ready" url=`); ok {
				url, _, _ := strings.Cut(rest, " ")
				ready <- url
			}
			_, _ = s.Write([]byte(line + "\n"))
		}
		_ = s.command.Wait()
	}()
	select {
	case s.url = <-ready:
	case <-s.ended:
		t.Fatalf("cascada serve ended:\n%s", s.output())
	case <-time.After(30 * time.Second):
		t.Fatalf("cascada serve is not ready:\n%s", s.output())
	}
	return s
}

// Write gathers what the program prints.
func (s *server) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(b)
}

func (s *server) output() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

// kill ends the program with no warning.
func (s *server) kill() {
	_ = s.command.Process.Kill()
	<-s.ended
}

// stop ends it politely and returns its exit code.
func (s *server) stop() int {
	_ = s.command.Process.Signal(syscall.SIGTERM)
	<-s.ended
	return s.command.ProcessState.ExitCode()
}

// keys is what merchant create --json prints.
type keys struct {
	Merchant struct{ ID, Name string }
	Shop     struct{ ID, Name, Slug string }
	Keys     struct {
		Sandbox, Production struct{ Publishable, Secret string }
	}
}

func merchant(t testing.TB, dir, database string) keys {
	t.Helper()
	out, log, code := run(t, dir, "merchant", "create", "--database", database, "--name", "Acme", "--email", "a@example.com", "--json")
	var k keys
	if code != 0 || json.Unmarshal([]byte(out), &k) != nil {
		t.Fatalf("merchant create: exit %d\n%s%s", code, out, log)
	}
	return k
}

// call sends one request and decodes the reply. Status 0: no reply.
func call(method, url, key, body string, header http.Header) (int, map[string]any) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil
	}
	for k, v := range header {
		r.Header[k] = v
	}
	r.Header.Set("Authorization", "Bearer "+key)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return 0, nil
	}
	var v map[string]any
	if json.Unmarshal(text, &v) != nil {
		return 0, nil
	}
	return reply.StatusCode, v
}

// await polls until something is so.
func await(t testing.TB, what string, so func() bool) {
	t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for !so() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
