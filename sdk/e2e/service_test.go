package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// service is a running Cascada.
type service struct {
	url, database, binary string
}

// keys are a merchant's in the sandbox.
type keys struct {
	Publishable string `json:"publishable"`
	Secret      string `json:"secret"`
}

var ready = regexp.MustCompile(`msg="cascada is ready" url=(\S+)`)

// log is what a program has written so far.
type log struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.lock.Lock()
	defer l.lock.Unlock()
	return l.text.String()
}

// start starts the binary that make build made.
func start(t *testing.T) service {
	t.Helper()
	binary, err := filepath.Abs("../../bin/cascada")
	if err != nil {
		t.Fatal(err)
	}
	s := service{binary: binary, database: "sqlite:" + filepath.Join(t.TempDir(), "sdk.db")}
	var written log
	program := exec.Command(binary, "serve", "--no-demo", "--allow-private-webhooks", "--listen", "127.0.0.1:0", "--database", s.database)
	program.Stdout, program.Stderr = &written, &written
	if err := program.Start(); err != nil {
		t.Fatalf("start the service: %v; make build makes it", err)
	}
	t.Cleanup(func() {
		_ = program.Process.Signal(syscall.SIGTERM)
		_ = program.Wait()
	})
	for deadline := time.Now().Add(time.Minute); s.url == ""; time.Sleep(20 * time.Millisecond) {
		if match := ready.FindStringSubmatch(written.String()); match != nil {
			s.url = match[1]
		}
		if time.Now().After(deadline) {
			t.Fatalf("the service is not ready: %s", written.String())
		}
	}
	return s
}

// merchant makes a merchant and returns its sandbox keys.
func (s service) merchant(t *testing.T, name string) keys {
	t.Helper()
	k, _ := s.merchantWithShop(t, name)
	return k
}

// merchantWithShop makes a merchant and returns its sandbox keys and the id of its shop.
func (s service) merchantWithShop(t *testing.T, name string) (keys, string) {
	t.Helper()
	out, err := exec.Command(s.binary, "merchant", "create", "--database", s.database, "--name", name, "--email", name+"@example.com", "--tier", "standard", "--json").Output()
	if err != nil {
		t.Fatalf("make a merchant: %v: %s", err, out)
	}
	var made struct {
		Shop struct{ ID string }
		Keys struct{ Sandbox keys }
	}
	if err := json.Unmarshal(out, &made); err != nil || made.Keys.Sandbox.Secret == "" {
		t.Fatalf("the merchant is %s, %v", out, err)
	}
	return made.Keys.Sandbox, made.Shop.ID
}

// programs are the commands that run the scenario of each SDK, as sdk/check.sh installed them.
func programs(t *testing.T) map[string][]string {
	t.Helper()
	list := map[string][]string{}
	for _, name := range []string{"typescript", "python", "php"} {
		command := strings.Fields(os.Getenv("SDK_" + strings.ToUpper(name)))
		if len(command) == 0 {
			t.Fatalf("SDK_%s is not set: make sdks runs these tests", strings.ToUpper(name))
		}
		list[name] = command
	}
	return list
}

// run runs a scenario and returns the lines that it printed.
func run(t *testing.T, command []string, mode, url string, k keys) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	program := exec.CommandContext(ctx, command[0], append(command[1:], mode)...)
	program.Env = append(os.Environ(), "CASCADA_URL="+url, "CASCADA_PUBLISHABLE="+k.Publishable, "CASCADA_SECRET="+k.Secret, "LC_ALL=C.UTF-8")
	var failed bytes.Buffer
	program.Stderr = &failed
	out, err := program.Output()
	if err != nil {
		t.Errorf("%s: %v: %s", strings.Join(command, " "), err, failed.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// compare reports the first lines that differ.
func compare(t *testing.T, name string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		var g, w string
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("%s: line %d is\n\t%s\nwant\n\t%s", name, i+1, g, w)
		}
	}
}
