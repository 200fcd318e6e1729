package main_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// servedBy is the header of a balancer's answer with the name of the node: node0 and so on.
const servedBy = "Served-By"

// balancer starts haproxy in front of nodes, with a readiness check of each, and returns the
// address for clients.
func balancer(t testing.TB, nodes []string) *server {
	t.Helper()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	var config strings.Builder
	fmt.Fprintf(&config, `global
  log stderr format raw daemon notice
defaults
  mode http
  timeout connect 2s
  timeout client 70s
  timeout server 70s
  option redispatch
  retries 3
listen cascada
  bind %s
  option httpchk GET /readyz
  http-response set-header `+servedBy+` %%s
  default-server check inter 200ms fall 1 rise 1
`, address)
	for i, node := range nodes {
		fmt.Fprintf(&config, "  server node%d %s\n", i, node)
	}
	file := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(file, []byte(config.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	front := &server{t: t, url: "http://" + address, command: exec.Command(program, "-db", "-f", file), ended: make(chan struct{})}
	front.command.Stdout, front.command.Stderr = front, front
	front.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := front.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(front.ended)
		_ = front.command.Wait() // it is killed
	}()
	t.Cleanup(func() {
		front.kill()
		if t.Failed() {
			t.Logf("haproxy printed\n%s", front.output())
		}
	})
	await(t, "the balancer to find a node that is ready", func() bool { status, _ := front.says("/readyz"); return status == http.StatusOK })
	return front
}

// drainDelay is how long a stopping node still accepts requests, so that the balancer notices.
const drainDelay = time.Second

// rolling is a group of nodes behind a balancer, which are replaced one by one by the next version.
type rolling struct {
	t        testing.TB
	database string
	user     user
	nodes    []*server
	at       []string // their addresses
	flags    []string // more flags for each node
}

// startRolling starts nodes on a database.
func startRolling(t testing.TB, database string, u user, nodes int, flags ...string) *rolling {
	t.Helper()
	r := &rolling{t: t, database: database, user: u, nodes: make([]*server, nodes), flags: flags}
	for range r.nodes {
		r.at = append(r.at, freeAddress(t))
	}
	for node := range r.nodes {
		r.start(node)
	}
	return r
}

// start starts a node at its address, and returns when the node is ready.
func (r *rolling) start(node int) {
	r.t.Helper()
	s := r.user.start(r.t, append([]string{"--database", r.database, "--listen", r.at[node], "--drain-delay", drainDelay.String()}, r.flags...)...)
	s.ready()
	s.url = "http://" + r.at[node]
	await(r.t, "the node to be ready", func() bool { status, _ := s.says("/readyz"); return status == http.StatusOK })
	r.nodes[node] = s
}

// replace replaces the nodes with the user's current program, one after the other.
func (r *rolling) replace() {
	r.t.Helper()
	for node, before := range r.nodes {
		before.stop()
		r.start(node)
		time.Sleep(500 * time.Millisecond) // the balancer checks twice in that time
	}
}

// A service is upgraded twice under load, node by node behind haproxy. Meanwhile nodes of two versions write to
// the same database, and no request fails. The contract migration runs when the last old node has stopped.
//
//	go test ./cmd/cascada -run TestDrillRolling -v -full
func TestDrillRolling(t *testing.T) {
	t.Parallel()
	versions, clients, thinks, some := 1, 4, 100*time.Millisecond, 20
	if *full {
		versions, clients, thinks, some = 2, 16, 20*time.Millisecond, 50
	}
	u := newUser(t).asPlain(t)
	r := startRolling(t, dbtest.Postgres(t), u, 3)
	front := balancer(t, r.at)
	c := newCrowd(t, u.merchant(t, r.database).Keys.Sandbox.Secret, moments(t), func(*server) *server { return front })
	c.ask, c.thinks = asksPaid, thinks
	wait := c.work(clients, endless)
	c.more("payments before the upgrade", some)
	began := time.Now()
	files, newest := t.TempDir(), newestMigration(t)
	for range versions {
		bringMigrations(t, files, newest)
		newest += 2
		r.user = u.with(asNext + "=" + files)
		r.replace()
		c.more("payments after the upgrade", some)
		if *full { // older programs count as active for a while
			await(t, "the contract migration", func() bool {
				out, _, _ := r.user.run(t, "migrate", "--plan", "--database", r.database)
				return strings.Contains(out, fmt.Sprintf("%[1]d of %[1]d", newest))
			})
			c.more("payments after the contract migration", some)
		}
	}
	longest := c.pause(began)
	c.enough.Store(true)
	wait()
	c.rest()
	v := c.audit()
	v.report(c)
	if len(c.codes) > 0 {
		t.Errorf("requests failed: %s", c.errors())
	}
	r.user.check(t, r.database)
	within(t, "an answer", c.longest, answerLimit)
	heading("versions", "nodes replaced", "requests", "errors", "longest answer", "longest time without service", "lost", "doubled", "untrue answers")
	row(versions, versions*len(r.nodes), v.asked, c.errors(), ms(c.longest), ms(longest), v.lost, v.doubled, v.untrue)
	for _, node := range r.nodes {
		node.stop()
	}
}
