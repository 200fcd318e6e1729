package main_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	main "github.com/cascadapay/cascada/cmd/cascada"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// binary is the program under test, as users have it: the one that make test has just built, or one built for the tests.
var binary string

// built is the directory of what the tests build.
var built string

// ready is the environment variable that names a program built from these sources.
const ready = "CASCADA_TEST_BINARY"

// plain is the program with the plain adapter: the tests' executable, or one without the race detector
// if the tests run with it. The detector then watches only the tests' own clients; races in the program
// are found by the tests of internal/e2e, which run the service in their own process.
var plain = sync.OnceValues(func() (string, error) {
	if info, ok := debug.ReadBuildInfo(); ok && !slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		return os.Executable()
	}
	path := filepath.Join(built, "plain")
	return path, build("test", "-c", "-o", path, ".")
})

// build builds as make build does, so that the build cache is used.
func build(args ...string) error {
	c := exec.Command("go", slices.Insert(args, 1, "-trimpath")...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go %v: %w\n%s", args, err, out)
	}
	return nil
}

// asPlain gives a user the program with the plain adapter.
func (u user) asPlain(t testing.TB) user {
	t.Helper()
	program, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	u = u.with(asProgram + "=yes")
	u.program = program
	return u
}

// asProgram is the environment variable that turns the tests' executable into the program with the
// plain adapter.
const asProgram = "CASCADA_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main.Run(nextMigrations(), providertest.Plain(), drillBank())
		return
	}
	if os.Getenv(asAttacker) != "" {
		if err := attack(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var err error
	if built, err = os.MkdirTemp("", "cascada-bin"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if binary = os.Getenv(ready); binary == "" {
		binary = filepath.Join(built, "cascada")
		if err := build("build", "-o", binary, "."); err != nil {
			fmt.Fprintln(os.Stderr, err)
			_ = os.RemoveAll(built) // nothing was built
			os.Exit(1)
		}
	}
	// Most tests spend their time waiting for processes.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err) // the flag exists
	}
	dbtest.Main(m, func() { _ = os.RemoveAll(built) })
}

// each runs a test on each engine, in parallel with others, because they mostly wait for processes.
func each(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, database string) {
		test(t, database)
	})
}

// atOnce runs tests in parallel as soon as it is called. Parallel subtests wait until every other test has
// begun: a test that waits for a minute would then end last, with nothing beside it.
func atOnce(t *testing.T, tests map[string]func(t *testing.T)) {
	t.Helper()
	var all sync.WaitGroup
	for name, test := range tests {
		all.Go(func() { t.Run(name, test) })
		if *full { // a full drill needs the whole machine
			all.Wait()
		}
	}
	all.Wait()
}

// eachAtOnce is each for a test that waits for a minute or so.
func eachAtOnce(t *testing.T, test func(t *testing.T, database string)) {
	t.Helper()
	atOnce(t, map[string]func(t *testing.T){
		"sqlite":   func(t *testing.T) { test(t, dbtest.SQLite(t)) },
		"postgres": func(t *testing.T) { test(t, dbtest.Postgres(t)) },
	})
}

// user is a person at a shell, with a directory and an environment.
type user struct {
	dir     string
	env     []string
	program string
}

// newUser has an empty directory, and none of our variables in the environment except
// those for a free port, for no rate limits, because tests poll, and for webhooks to
// this machine.
func newUser(t testing.TB) user {
	ours := func(variable string) bool { return strings.HasPrefix(variable, "CASCADA_") }
	return user{t.TempDir(), slices.DeleteFunc(os.Environ(), ours), binary}.with("CASCADA_LISTEN=127.0.0.1:0", "CASCADA_RATE_LIMIT=off", "CASCADA_ALLOW_PRIVATE_WEBHOOKS=true")
}

// with returns the user with more variables; the last one with a name wins.
func (u user) with(variables ...string) user {
	return user{u.dir, append(slices.Clip(u.env), variables...), u.program}
}

// run runs the program until it ends.
func (u user) run(t testing.TB, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return u.pipe(t, "", args...)
}

// pipe runs the program with a text on its standard input.
func (u user) pipe(t testing.TB, input string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	lasts := time.Minute
	if *full {
		lasts = 30 * time.Minute // a check after a full drill
	}
	ctx, cancel := context.WithTimeout(context.Background(), lasts)
	defer cancel()
	c := exec.CommandContext(ctx, u.program, args...)
	c.Dir, c.Env = u.dir, u.env
	var out, log bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(input), &out, &log
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), log.String(), c.ProcessState.ExitCode()
}

// check fails the test if an invariant of the database is broken.
func (u user) check(t testing.TB, database string) {
	t.Helper()
	if out, log, code := u.run(t, "check", "--database", database); code != 0 {
		t.Errorf("check: exit %d\n%s%s", code, out, log)
	}
}

// story returns the story of a payment.
func (u user) story(t testing.TB, database, transaction string) string {
	out, log, _ := u.run(t, "story", "--database", database, transaction)
	return out + log
}

// keys is the output of merchant create --json.
type keys struct {
	Merchant struct{ ID, Name string }
	Shop     struct{ ID, Name, Slug string }
	Keys     struct {
		Sandbox, Production struct{ Publishable, Secret string }
	}
}

// merchant creates a merchant and returns its keys.
func (u user) merchant(t testing.TB, database string) keys {
	t.Helper()
	out, log, code := u.run(t, "merchant", "create", "--database", database, "--name", "Acme", "--email", "a@example.com",
		"--refund-fees", "returned", "--json") // so that every refund has enough money
	var k keys
	if code != 0 || json.Unmarshal([]byte(out), &k) != nil {
		t.Fatalf("merchant create: exit %d\n%s%s", code, out, log)
	}
	return k
}

// server is a running cascada serve.
type server struct {
	t       testing.TB
	command *exec.Cmd
	began   time.Time
	url     string
	ended   chan struct{} // closed when the process has ended

	mu  sync.Mutex // owns out
	out bytes.Buffer
}

// serve starts the program and waits until it is ready.
func (u user) serve(t testing.TB, args ...string) *server {
	t.Helper()
	s := u.start(t, args...)
	s.ready()
	return s
}

// ready waits until the program is ready, and learns its URL.
func (s *server) ready() {
	s.t.Helper()
	await(s.t, "cascada serve to be ready", func() bool {
		line := readyLine.FindStringSubmatch(s.output())
		if line != nil {
			s.url = line[1]
		}
		return line != nil || s.gone()
	})
	if s.url == "" {
		s.t.Fatal("cascada serve ended by itself")
	}
	s.t.Logf("ready %s after the start", time.Since(s.began).Round(time.Millisecond))
}

var readyLine = regexp.MustCompile(`msg="cascada is ready" url=(\S+)`)

// start starts the program and does not wait. If the test fails, it shows what the program
// printed.
func (u user) start(t testing.TB, args ...string) *server {
	t.Helper()
	return u.startInto(t, nil, args...)
}

// startInto is start with another standard output than the server's; nil: the server's.
func (u user) startInto(t testing.TB, stdout *os.File, args ...string) *server {
	t.Helper()
	s := &server{t: t, command: exec.Command(u.program, append([]string{"serve"}, args...)...), began: time.Now(), ended: make(chan struct{})}
	s.command.Dir, s.command.Env = u.dir, u.env
	if s.command.Stdout = s; stdout != nil {
		s.command.Stdout = stdout
	}
	log, err := s.command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.kill()
		if t.Failed() {
			t.Logf("cascada serve printed\n%s", s.output())
		}
	})
	go func() {
		defer close(s.ended)
		lines := bufio.NewScanner(log)
		for lines.Scan() {
			_, _ = s.Write([]byte(lines.Text() + "\n"))
		}
		_ = s.command.Wait() // its exit code is read elsewhere
	}()
	return s
}

// Write collects what the program prints.
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

// gone reports whether the process has ended.
func (s *server) gone() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// kill ends the program without warning.
func (s *server) kill() {
	_ = s.command.Process.Signal(syscall.SIGKILL) // it may have ended by itself
	<-s.ended
}

// terminate asks the program to end.
func (s *server) terminate() {
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
}

// stop asks the program to end, and fails the test if it does not end well, or has logged a fault.
func (s *server) stop() {
	s.t.Helper()
	s.end()
	s.faultless()
}

// end asks the program to end, and fails the test if it does not end well.
func (s *server) end() {
	s.t.Helper()
	s.terminate()
	await(s.t, "cascada serve to end after SIGTERM", s.gone)
	if code := s.command.ProcessState.ExitCode(); code != 0 {
		s.t.Errorf("exit %d after SIGTERM, want 0", code)
	}
}

// faultless fails the test if the program logged something that would wake the person
// on call.
func (s *server) faultless() {
	s.t.Helper()
	for line := range strings.Lines(s.output()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "panic:") {
			s.t.Errorf("the server logged a fault: %s", line)
		}
	}
}

// connections keeps enough idle connections open for the tests' load.
var connections = &http.Client{
	Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	Timeout:   20 * time.Second,
}

// call sends a request and decodes the reply. Status 0: there was no reply.
func (s *server) call(method, path, key, body string, header http.Header) (int, map[string]any) {
	return s.callBy(connections, method, path, key, body, header)
}

func (s *server) callBy(client *http.Client, method, path, key, body string, header http.Header) (int, map[string]any) {
	r, err := http.NewRequest(method, s.url+"/api/v1"+path, strings.NewReader(body))
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
	reply, err := client.Do(r)
	if err != nil {
		return 0, nil
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	var v map[string]any
	if err != nil || json.Unmarshal(text, &v) != nil {
		return 0, nil
	}
	return reply.StatusCode, v
}

// total counts the payments that a query selects; -1 if there was no reply.
func (s *server) total(key, query string) int { return s.count("/payments", key, query) }

// claims counts the claims that a query selects.
func (s *server) claims(key, query string) int { return s.count("/claims", key, query) }

func (s *server) count(path, key, query string) int {
	_, list := s.call("GET", path+"?limit=1&"+query, key, "", nil)
	page, _ := list["pagination"].(map[string]any)
	if total, ok := page["total"].(float64); ok {
		return int(total)
	}
	return -1
}

// text returns a string in a reply, at a path of keys, or "".
func text(reply map[string]any, path ...string) string {
	for _, key := range path[:len(path)-1] {
		reply, _ = reply[key].(map[string]any)
	}
	value, _ := reply[path[len(path)-1]].(string)
	return value
}

// patience covers work that a process leased and could not do: it is due again after 90 s.
const patience = 2 * time.Minute

// await polls until a condition holds: at once, and then after a twentieth of the time waited so far. A
// hundred polls a second for a minute would take the machine from other tests.
func await(t testing.TB, what string, so func() bool) {
	t.Helper()
	for began := time.Now(); !so(); {
		waited := time.Since(began)
		if waited > patience {
			t.Fatalf("after %s still waiting for %s", patience, what)
		}
		time.Sleep(min(max(waited/20, 10*time.Millisecond), 250*time.Millisecond))
	}
}
