package main_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/webhooks/sender"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// small is the program cascada-cli, built as make build does.
var small = sync.OnceValues(func() (string, error) {
	path := filepath.Join(built, "cascada-cli")
	return path, build("build", "-o", path, "../cascada-cli")
})

// developer is a user with cascada-cli, an empty home and nothing of the service but its address and a key.
func developer(t *testing.T, s *server, key string) user {
	t.Helper()
	program, err := small()
	if err != nil {
		t.Fatal(err)
	}
	u := newUser(t)
	u.program = program
	return u.with("HOME="+u.dir, "XDG_CONFIG_HOME="+filepath.Join(u.dir, "config"), "DISPLAY=", "WAYLAND_DISPLAY=", "CASCADA_URL="+s.url, "CASCADA_API_KEY="+key)
}

// hook is a shop's endpoint that checks what it gets.
type hook struct {
	url    string
	mu     sync.Mutex
	secret string
	events []string // ids, as they came
	types  []string
	wrong  []string
	answer func(id string) int // nil: 204
}

// newHook listens at an address, "" for any.
func newHook(t *testing.T, at string) *hook {
	t.Helper()
	if at == "" {
		at = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	h := &hook{url: "http://" + l.Addr().String() + "/hook"}
	server := &http.Server{Handler: h}
	go func() { _ = server.Serve(l) }() // ends with the test
	t.Cleanup(func() { _ = server.Close() })
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var e struct{ ID, Type string }
	_ = json.Unmarshal(body, &e)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := sender.Verify(r.Header.Get(sender.SignatureHeader), body, h.secret, time.Now(), sender.Tolerance); err != nil || e.ID == "" || r.Header.Get(sender.EventHeader) != e.Type || r.Header.Get(sender.StandardIDHeader) != e.ID {
		h.wrong = append(h.wrong, fmt.Sprintf("%s %v: %v", e.ID, r.Header, err))
	}
	h.events, h.types = append(h.events, e.ID), append(h.types, e.Type)
	status := http.StatusNoContent
	if h.answer != nil {
		status = h.answer(e.ID)
	}
	w.WriteHeader(status)
	if status == http.StatusTeapot {
		_, _ = io.WriteString(w, "short and \x1b]0;stout\x07\n")
	}
}

func (h *hook) got() (ids, types []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.wrong) > 0 {
		return nil, nil
	}
	return slices.Clone(h.events), slices.Clone(h.types)
}

// listening is a running listen.
type listening struct {
	t       *testing.T
	command *exec.Cmd
	mu      sync.Mutex
	text    strings.Builder
}

func (l *listening) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *listening) output() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// listens starts listen and waits until it listens.
func (u user) listens(t *testing.T, args ...string) *listening {
	t.Helper()
	l := u.begins(t, append([]string{"listen", "--every", "100ms"}, args...)...)
	await(t, "listen to listen", func() bool { return strings.Contains(l.output(), "Ctrl-C") })
	return l
}

func (u user) begins(t *testing.T, args ...string) *listening {
	t.Helper()
	l := &listening{t: t, command: exec.Command(u.program, args...)}
	l.command.Dir, l.command.Env, l.command.Stdout, l.command.Stderr = u.dir, u.env, l, l
	if err := l.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.end(syscall.SIGKILL)
		if t.Failed() {
			t.Logf("%v printed\n%s", args, l.output())
		}
	})
	return l
}

// end ends it by a signal.
func (l *listening) end(by os.Signal) int {
	_ = l.command.Process.Signal(by) // it may have ended by itself
	_ = l.command.Wait()             // its exit code is returned
	return l.command.ProcessState.ExitCode()
}

// A developer logs in with an address and a key. The key is in a file that nobody else can read, and in no output. What would be real
// is refused to a live key.
func TestDeveloperLogsIn(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	k := u.merchant(t, "sqlite:cascada.db")
	s := u.serve(t)
	secret := k.Keys.Sandbox.Secret
	d := developer(t, s, "").with("CASCADA_URL=", "CASCADA_API_KEY=")
	if _, log, code := d.run(t, "trigger", "payment.completed"); code == 0 || !strings.Contains(log, "run login first") {
		t.Errorf("without a login: exit %d %q", code, log)
	}
	if _, log, code := d.pipe(t, "sk_test_wrong\n", "login", "--url", s.url); code == 0 || !strings.Contains(log, "invalid_api_key") || !strings.Contains(log, "Ask the operator") {
		t.Errorf("with a wrong key: exit %d %q", code, log)
	}
	if _, log, code := d.pipe(t, secret+"\n", "login", "--url", "http://"+freePort(t)); code == 0 || !strings.Contains(log, "does not answer") {
		t.Errorf("with a wrong address: exit %d %q", code, log)
	}
	out, log, code := d.pipe(t, s.url+"/api/v1/\n"+secret+"\n", "login")
	if code != 0 || !strings.Contains(out, k.Merchant.Name) || !strings.Contains(out, "sandbox") || strings.Contains(out+log, secret) {
		t.Fatalf("login: exit %d\n%s%s", code, out, log)
	}
	if out, log, code := d.run(t, "login", "--profile", "live", "--url", s.url, "--key", k.Keys.Production.Secret); code != 0 || !strings.Contains(log, "--live") {
		t.Fatalf("login with a live key: exit %d\n%s%s", code, out, log)
	}
	file := filepath.Join(d.dir, "config", "cascada", "developer.json")
	for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s is %v, want %v (%v)", path, info.Mode(), want, err)
		}
	}
	if out := d.does(t, "login", "--list"); strings.Contains(out, secret) || !strings.Contains(out, "live") || !strings.Contains(out, k.Shop.ID) {
		t.Errorf("the list is\n%s", out)
	}
	steps := filepath.Join(d.dir, "steps.yaml")
	if err := os.WriteFile(steps, []byte("steps: [{path: /ping}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"trigger", "payment.completed"}, {"fixtures", steps}} {
		if _, log, code := d.run(t, append(args, "--profile", "live")...); code == 0 || !strings.Contains(log, "live key") {
			t.Errorf("%v with a live key: exit %d %q", args, code, log)
		}
		d.does(t, args...)
	}
	d.does(t, "fixtures", steps, "--profile", "live", "--live")
	big := d // the same commands are in cascada
	big.program = u.program
	big.does(t, "trigger", "payment.failed")
	d.does(t, "logout", "live")
	if _, log, code := d.run(t, "open", "--profile", "live"); code == 0 || !strings.Contains(log, "there are: default") {
		t.Errorf("after logout: exit %d %q", code, log)
	}
	s.stop()
}

// Each type of event in the catalogue can be triggered with a key, and reaches the endpoint, signed.
func TestEveryTypeIsTriggered(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	k := u.merchant(t, "sqlite:cascada.db")
	s := u.serve(t)
	d := developer(t, s, k.Keys.Sandbox.Secret)
	h := newHook(t, "")
	h.secret = strings.TrimSpace(d.does(t, "listen", "--print-secret"))
	l := d.listens(t, "--forward-to", h.url)
	var plain, later []string
	for _, kind := range webhooks.EventTypes() {
		switch name := string(kind); name {
		case "withdrawal.returned", "balance.adjusted":
			if _, log, code := d.run(t, "trigger", name); code != 1 || !strings.Contains(log, "cannot be triggered with a key") {
				t.Errorf("trigger %s: exit %d %q", name, code, log)
			}
		case "settlement.closed", "settlement.pdf_ready", "withdrawal.completed", "withdrawal.failed":
			if _, log, code := d.run(t, "trigger", name); code != 1 || !strings.Contains(log, "--move-clock") {
				t.Errorf("trigger %s moves the clock by itself: exit %d %q", name, code, log)
			}
			later = append(later, name)
		default:
			plain = append(plain, name)
		}
	}
	trigger := func(name string) {
		out, log, code := d.run(t, "trigger", name, "--move-clock", "--json")
		var made struct{ Event, ID, Object string }
		if err := json.Unmarshal([]byte(out), &made); code != 0 || err != nil || made.Event != name || made.ID == "" || made.Object == "" {
			t.Errorf("trigger %s: exit %d\n%s%s", name, code, out, log)
			return
		}
		await(t, name+" at the endpoint", func() bool {
			ids, types := h.got()
			at := slices.Index(ids, made.ID)
			return at >= 0 && types[at] == name
		})
	}
	var all sync.WaitGroup
	for _, name := range plain {
		all.Go(func() { trigger(name) })
	}
	all.Wait()
	for _, name := range later {
		trigger(name)
	}
	if len(h.wrong) > 0 {
		t.Errorf("not signed as the docs say: %v", h.wrong)
	}
	if code := l.end(os.Interrupt); code != 0 {
		t.Errorf("listen ended with exit %d", code)
	}
	s.stop()
	u.check(t, "sqlite:cascada.db")
}

// Whatever is killed, and when: each event reaches the endpoint, in the order in which they happened.
func TestListenLosesNothing(t *testing.T) {
	t.Parallel()
	u := newUser(t).with("CASCADA_LISTEN=" + freePort(t))
	k := u.merchant(t, "sqlite:cascada.db")
	s := u.serve(t)
	d := developer(t, s, k.Keys.Sandbox.Secret)
	place := freePort(t)
	secret := strings.TrimSpace(d.does(t, "listen", "--print-secret"))
	var want []string
	pay := func(n int) {
		for range n {
			status, reply := s.call("POST", "/payments", k.Keys.Sandbox.Secret, `{"amount":25,"paymentMethodId":"sbx_card"}`, http.Header{"Sandbox-Strict": {"false"}})
			if status != http.StatusCreated {
				t.Fatalf("%d %v", status, reply)
			}
			want = append(want, "evt_"+strings.TrimPrefix(text(reply, "transactionId"), "TXN-")+"-1")
		}
	}
	args := []string{"--forward-to", place, "--events", "payment.completed"}
	l := d.listens(t, args...)
	if _, log, code := d.run(t, append([]string{"listen"}, args...)...); code != 1 || !strings.Contains(log, "another listen") {
		t.Errorf("a second listen: exit %d %q", code, log)
	}
	pay(3)
	await(t, "listen to see that nothing is there", func() bool { return strings.Contains(l.output(), "Nothing listens at") })
	h := newHook(t, place)
	h.secret = secret
	slow := func(string) int { time.Sleep(20 * time.Millisecond); return http.StatusNoContent } // an endpoint that works
	h.mu.Lock()
	h.answer = slow
	h.mu.Unlock()
	came := func(n int) {
		t.Helper()
		await(t, fmt.Sprint(n, " events at the endpoint"), func() bool { ids, _ := h.got(); return len(ids) >= n })
	}
	came(3)
	pay(20)
	came(8)
	l.end(syscall.SIGKILL)
	pay(10)
	l = d.listens(t, args...)
	came(20)
	s.kill()
	await(t, "listen to miss the service", func() bool { return strings.Contains(l.output(), "until it is back") })
	s = u.serve(t)
	pay(10)
	await(t, "listen to find the service again", func() bool { return strings.Contains(l.output(), "is back") })
	await(t, "each event at the endpoint", func() bool {
		ids, _ := h.got()
		return !slices.ContainsFunc(want, func(id string) bool { return !slices.Contains(ids, id) })
	})
	if code := l.end(syscall.SIGTERM); code != 0 {
		t.Errorf("listen ended with exit %d", code)
	}
	ids, _ := h.got()
	var order []string
	for _, id := range ids {
		if !slices.Contains(order, id) {
			order = append(order, id)
		}
	}
	if !slices.Equal(order, want) {
		t.Errorf("they came as %v, want %v", order, want)
	}
	if repeats := len(ids) - len(order); repeats > 1 {
		t.Errorf("%d events came twice after one kill", repeats)
	}
	l = d.listens(t, args...)
	pay(1)
	came(len(ids) + 1)
	if again, _ := h.got(); len(again) != len(ids)+1 {
		t.Errorf("after a good end %d events came, want 1", len(again)-len(ids))
	}
	s.stop()
}

// What the endpoint answers is shown; a page of control characters does not reach the terminal.
func TestListenShowsAnswersSafely(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	k := u.merchant(t, "sqlite:cascada.db")
	s := u.serve(t)
	d := developer(t, s, k.Keys.Sandbox.Secret)
	h := newHook(t, "")
	h.secret = "whsec_own"
	h.answer = func(string) int { return http.StatusTeapot }
	l := d.with("CASCADA_WEBHOOK_SECRET=whsec_own").listens(t, "--forward-to", h.url, "--events", "payment.comp*,claim.opened", "--print-json", "--retry", "1")
	status, reply := s.call("POST", "/payments", k.Keys.Sandbox.Secret, `{"amount":25,"paymentMethodId":"sbx_card","metadata":{"note":"\u00ab"}}`, nil)
	if status != http.StatusCreated {
		t.Fatalf("%d %v", status, reply)
	}
	await(t, "two tries", func() bool { ids, _ := h.got(); return len(ids) == 2 })
	await(t, "their lines", func() bool { return strings.Count(l.output(), "[418]") == 2 })
	if out := l.output(); !strings.Contains(out, `"type": "payment.completed"`) || !strings.Contains(out, `short and \u001b]0;stout\u0007`) || regexp.MustCompile(`[\x00-\x08\x0b-\x1f\x7f]`).MatchString(out) || len(h.wrong) > 0 {
		t.Errorf("%v\n%s", h.wrong, out)
	}
	s.stop()
}

// The log shows what keys asked, and not the asking itself. A file of steps runs in order, and open says where things are.
func TestDeveloperReadsTheLog(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	k := u.merchant(t, "sqlite:cascada.db")
	s := u.serve(t)
	d := developer(t, s, k.Keys.Sandbox.Secret)
	tail := d.begins(t, "logs", "tail", "--every", "100ms", "-n", "0")
	d.listens(t)
	d.does(t, "trigger", "payment.failed", "--order", "log-1")
	await(t, "the refused payment in the log", func() bool { return strings.Contains(tail.output(), "402") })
	if out := tail.output(); !strings.Contains(out, "card_declined") || !strings.Contains(out, "POST   /payments ") {
		t.Errorf("the log is\n%s", out)
	}
	lines := bufio.NewScanner(strings.NewReader(d.does(t, "logs", "tail", "--no-follow", "-n", "100", "--json")))
	polls := 0
	for lines.Scan() {
		var r struct{ ID, Method, Route, Key string }
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil || r.ID == "" || strings.Contains(r.Key, k.Keys.Sandbox.Secret) {
			t.Errorf("%s: %v", lines.Text(), err)
		}
		if r.Route == "/requests" {
			polls++
		}
	}
	if polls > 0 {
		t.Errorf("the log has %d looks at the log", polls)
	}
	steps := filepath.Join(d.dir, "steps.yaml")
	if err := os.WriteFile(steps, []byte(`
steps:
  - name: payment
    method: POST
    path: /payments
    headers: {Sandbox-Strict: "false"}
    body: {amount: 25.00, paymentMethodId: sbx_card, merchantOrderId: "order-${run}"}
    expect: 201
  - name: refund
    method: POST
    path: /payments/${payment.transactionId}/refund
    body: {amount: 5.00}
  - name: found
    path: /payments?merchantOrderId=order-${run}
    where: {data.0.id: "${payment.transactionId}", data.0.status: refunded}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := d.does(t, "fixtures", steps); !strings.Contains(out, "3 steps") {
		t.Errorf("fixtures printed %s", out)
	}
	if err := os.WriteFile(steps, []byte("steps: [{name: x, path: /payments/TXN-NO}]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, log, code := d.run(t, "fixtures", steps); code != 1 || !strings.Contains(log, "transaction_not_found") || !strings.Contains(log, "line 1") {
		t.Errorf("a step that fails: exit %d %s", code, log)
	}
	_, list := s.call("GET", "/payments?limit=1", k.Keys.Sandbox.Secret, "", nil)
	rows, _ := list["data"].([]any)
	row, _ := rows[0].(map[string]any)
	id := text(row, "id")
	want := s.url + "/dashboard/" + k.Shop.ID + "/sandbox/payments/" + id
	if out := d.does(t, "open", "--print", id); strings.TrimSpace(out) != want {
		t.Errorf("open printed %s, want %s", out, want)
	}
	if _, log, code := d.run(t, "open", "-p", "TXN-NO"); code != 1 || !strings.Contains(log, "transaction_not_found") {
		t.Errorf("open of nothing: exit %d %s", code, log)
	}
	s.stop()
}
