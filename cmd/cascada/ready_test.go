package main_test

import (
	"bufio"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// says sends a request to a path outside of the API, and returns the answer.
func (s *server) says(path string) (status int, body string) {
	r, err := http.Get(s.url + path)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, err.Error()
	}
	return r.StatusCode, strings.TrimSpace(string(text))
}

// freeAddress returns an address on which nobody listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A node that starts before its database waits for it, and /readyz says so.
func TestServeWaitsForItsDatabase(t *testing.T) {
	t.Parallel()
	database := dbtest.Alone(t)
	line := database.Line()
	line.Down(true)
	u := newUser(t)
	address := freeAddress(t)
	s := u.start(t, "--listen", address, "--database", dbtest.Address(line))
	s.url = "http://" + address
	await(t, "the node to say that it waits", func() bool { return strings.Contains(s.output(), "the start waits for it") })
	if status, body := s.says("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d %s", status, body)
	}
	if status, body := s.says("/readyz"); status != http.StatusServiceUnavailable || body != "starting" {
		t.Errorf("/readyz: %d %s", status, body)
	}
	if status, reply := s.call("GET", "/ping", "", "", nil); status != http.StatusServiceUnavailable || code(status, reply) != "503 service_unavailable" || text(reply, "error", "requestId") == "" {
		t.Errorf("the API: %d %v", status, reply)
	}
	line.Down(false)
	s.ready()
	if status, body := s.says("/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: %d %s", status, body)
	}
	s.terminate()
	await(t, "the node to end", s.gone)

	// A node that is told to stop while it waits stops, and a wrong database address is not waited for.
	line.Down(true)
	s = u.start(t, "--database", dbtest.Address(line))
	await(t, "the node to say that it waits", func() bool { return strings.Contains(s.output(), "the start waits for it") })
	s.terminate()
	await(t, "the node to end", s.gone)
	if code := s.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if _, log, code := u.run(t, "serve", "--database", strings.Replace(dbtest.Address(database), "/postgres?", "/nowhere?", 1)); code == 0 || !strings.Contains(log, "nowhere") {
		t.Errorf("a database that does not exist: exit %d %s", code, log)
	}
}

// A server that does not accept writes yet, such as a standby before its promotion, is waited for like one that
// does not answer, and no master key is left behind.
func TestServeWaitsForAServerThatAcceptsWrites(t *testing.T) {
	t.Parallel()
	database := dbtest.Alone(t)
	db, err := sql.Open("pgx", dbtest.Address(database))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	u := newUser(t).with("CASCADA_DATABASE=" + dbtest.Address(database))
	writes := func(off string) {
		if _, err := db.Exec("SET default_transaction_read_only = off; ALTER ROLE app SET default_transaction_read_only = " + off); err != nil {
			t.Fatal(err)
		}
	}
	for _, first := range []bool{true, false} { // before there is a schema, and after
		writes("on")
		if _, log, code := u.run(t, "migrate"); code == 0 && first || !strings.Contains(log, "takes no writes") && first {
			t.Errorf("migrate: exit %d, %s", code, log)
		}
		s := u.start(t)
		await(t, "the node to say that it waits", func() bool { return strings.Contains(s.output(), "the start waits for it") || s.gone() })
		if _, err := os.Stat(filepath.Join(u.dir, "cascada.key")); first && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a key was made for a database that accepts no writes: %v", err)
		}
		writes("off")
		s.ready()
		s.terminate()
		await(t, "the node to end", s.gone)
	}
	u.check(t, dbtest.Address(database))
}

// A primary whose synchronous standby has failed accepts no commit, without an error: the node is not ready. The demo
// merchant of the start is in such a commit: the node lives on, and prints its keys when the commit is known.
func TestFailedStandbyMakesTheNodeNotReady(t *testing.T) {
	t.Parallel()
	database := dbtest.Alone(t)
	u := newUser(t).with("CASCADA_DATABASE=" + dbtest.Address(database))
	if _, log, code := u.run(t, "migrate"); code != 0 {
		t.Fatalf("migrate: exit %d\n%s", code, log)
	}
	db, err := sql.Open("pgx", dbtest.Address(database))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(statement string) {
		t.Helper()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	// A new merchant waits for the test.
	exec(`CREATE FUNCTION wait_for_the_test() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END'`)
	exec(`CREATE TRIGGER wait_for_the_test BEFORE INSERT ON merchants FOR EACH ROW EXECUTE FUNCTION wait_for_the_test()`)
	tx, err := db.Begin()
	if err == nil {
		_, err = tx.Exec("SELECT pg_advisory_xact_lock(7)")
	}
	if err != nil {
		t.Fatal(err)
	}
	standby := database.Standby()
	database.WaitFor("*")
	s := u.serve(t)
	await(t, "the demo merchant to be written", func() bool {
		var waits bool
		if err := db.QueryRow("SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND objid = 7 AND NOT granted").Scan(&waits); err != nil {
			t.Fatal(err)
		}
		return waits
	})
	standby.Kill()
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	await(t, "the node not to be ready", func() bool { status, _ := s.says("/readyz"); return status == http.StatusServiceUnavailable })
	if status, body := s.says("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d %s", status, body)
	}
	await(t, "the node to say that it tries again", func() bool {
		return strings.Contains(s.output(), "the demo is not complete: it is tried again") || s.gone()
	})
	database.WaitFor("")
	await(t, "the node to be ready again", func() bool { status, _ := s.says("/readyz"); return status == http.StatusOK || s.gone() })
	await(t, "the demo's keys and its link", func() bool {
		return strings.Contains(s.output(), "sk_test_") && strings.Contains(s.output(), "/dashboard/") || s.gone()
	})
	s.terminate()
	await(t, "the node to end", s.gone)
	if code := s.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d", code)
	}
	u.check(t, dbtest.Address(database))
}

// A pooler in session mode works. In another mode it is refused, with the setting that it needs.
func TestPoolers(t *testing.T) {
	t.Parallel()
	database := dbtest.Alone(t)
	u := newUser(t)
	for _, mode := range []string{"transaction", "statement"} {
		_, log, code := u.run(t, "serve", "--database", database.Bouncer(mode).Address)
		if code == 0 || !strings.Contains(log, "pool_mode = session") {
			t.Errorf("%s: exit %d %s", mode, code, log)
		}
	}
	address := database.Bouncer("session").Address
	s := u.serve(t, "--database", address)
	k := u.merchant(t, address).Keys.Sandbox.Secret
	if status, reply := s.call("POST", "/payments", k, `{"amount":10,"paymentMethodId":"sbx_card"}`, nil); status != http.StatusCreated {
		t.Errorf("a payment: %d %v", status, reply)
	}
	s.stop()
	u.check(t, address)
}

// Before the listener closes, the balancer has time to notice. Streams of watched payments end
// at once, and do not delay the shutdown.
func TestDrainTellsTheBalancerFirst(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := u.serve(t, "--drain-delay", "3s")
	k := u.merchant(t, "sqlite:cascada.db").Keys.Sandbox.Secret
	pay := func() (int, map[string]any) {
		return s.call("POST", "/payments", k, `{"amount":10,"paymentMethodId":"sbx_pix","documentId":"52998224725"}`, nil)
	}
	_, made := pay()
	live, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if _, err := fmt.Fprintf(live, "GET /pay/%s/live?status=pending HTTP/1.1\r\nHost: x\r\n\r\n", text(made, "transactionId")); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(live)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatalf("the stream: %q %v", line, err)
	}
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, "the node to say that it drains", func() bool {
		status, body := s.says("/readyz")
		return status == http.StatusServiceUnavailable && body == "draining"
	})
	if status, reply := pay(); status != http.StatusCreated {
		t.Errorf("a payment during the drain: %d %v", status, reply)
	}
	if err := live.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(lines); err != nil {
		t.Errorf("the stream does not end well: %v", err)
	}
	await(t, "the node to end", s.gone)
	if strings.Contains(s.output(), "requests were cut off") {
		t.Errorf("a stream delayed the shutdown:\n%s", s.output())
	}
	u.check(t, "sqlite:cascada.db")
}

// cascada health is what an image without a shell has for its health check: the exit code says whether the service answers, and --ready
// whether it takes payments.
func TestHealthAsksTheService(t *testing.T) {
	t.Parallel()
	database := dbtest.Alone(t)
	line := database.Line()
	line.Down(true)
	u := newUser(t)
	address := freeAddress(t)
	if _, log, code := u.run(t, "health", "--listen", address); code != 1 || !strings.Contains(log, "refused") {
		t.Errorf("without a service: exit %d, %s", code, log)
	}
	s := u.start(t, "--listen", address, "--database", dbtest.Address(line))
	s.url = "http://" + address
	await(t, "the node to say that it waits", func() bool { return strings.Contains(s.output(), "the start waits for it") })
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	anywhere := "0.0.0.0:" + port // where a container listens
	if out, log, code := u.with("CASCADA_LISTEN="+anywhere).run(t, "health"); code != 0 || out != "ok\n" {
		t.Errorf("a service that waits for its database: exit %d, %q %s", code, out, log)
	}
	if _, log, code := u.run(t, "health", "--ready", "--listen", anywhere); code != 1 || !strings.Contains(log, "/readyz: starting") {
		t.Errorf("--ready of a service that waits for its database: exit %d, %s", code, log)
	}
	line.Down(false)
	s.ready()
	if out, log, code := u.run(t, "health", "--ready", "--listen", anywhere); code != 0 || out != "ready\n" {
		t.Errorf("--ready: exit %d, %q %s", code, out, log)
	}
	if _, _, code := u.run(t, "health", "--listen", "nonsense"); code == 0 {
		t.Error("an address that is none is accepted")
	}
}
