package dbtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Cluster is a group of servers under Patroni, which promotes one automatically when the primary fails.
type Cluster struct {
	t       testing.TB
	Members []*Member
}

// Member is one of the servers, with its Patroni.
type Member struct {
	instance
	t       testing.TB
	port    int
	patroni *exec.Cmd
}

// Patroni starts an etcd and some members, each of which waits for a standby. It is nil if
// Patroni is not installed.
func Patroni(t testing.TB, members int) *Cluster {
	t.Helper()
	for _, program := range []string{"patroni", "etcd"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil
		}
	}
	c := &Cluster{t: t}
	store := c.etcd()
	for i := range members {
		c.Members = append(c.Members, c.member(store, fmt.Sprint("member", i)))
		if i == 0 {
			c.await("a primary", func() bool { return c.Primary() != nil })
		}
	}
	c.await("all members to follow", func() bool {
		p := c.Primary()
		return p != nil && p.ask("SELECT count(*) FILTER (WHERE sync_state = 'sync') > 0 AND count(*) = "+strconv.Itoa(members-1)+" FROM pg_stat_replication WHERE state = 'streaming'")
	})
	return c
}

// etcd starts the store on which the members agree, and returns its address.
func (c *Cluster) etcd() string {
	s := &Member{t: c.t}
	s.must(s.makeDir(memory()))
	clients, peers := fmt.Sprintf("127.0.0.1:%d", c.freePort()), fmt.Sprintf("http://127.0.0.1:%d", c.freePort())
	s.start(exec.Command("etcd", "--name", "drill", "--data-dir", filepath.Join(s.dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", "http://"+clients, "--advertise-client-urls", "http://"+clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "drill="+peers))
	c.await("etcd", func() bool {
		conn, err := net.Dial("tcp", clients)
		return err == nil && conn.Close() == nil
	})
	return clients
}

// member starts a member. Patroni waits twenty seconds before it declares a primary dead.
func (c *Cluster) member(store, name string) *Member {
	m := &Member{t: c.t, port: c.freePort()}
	m.must(m.makeDir(memory()))
	config := fmt.Sprintf(`
scope: drill
name: %[1]s
restapi: {listen: "127.0.0.1:%[2]d", connect_address: "127.0.0.1:%[2]d"}
etcd3: {host: "%[3]s"}
watchdog: {mode: "off"}
bootstrap:
  dcs:
    {ttl: 20, loop_wait: 5, retry_timeout: 5, synchronous_mode: true, postgresql: {use_pg_rewind: true, use_slots: true}}
  initdb: [{encoding: UTF8}, {locale: C}]
  pg_hba: &hba
    - local all all trust
    - host all all 127.0.0.1/32 trust
    - host replication all 127.0.0.1/32 trust
postgresql:
  listen: 127.0.0.1:%[4]d
  connect_address: 127.0.0.1:%[4]d
  data_dir: %[5]s
  bin_dir: %[6]s
  pgpass: %[7]s/pgpass
  pg_hba: *hba
  authentication: {superuser: {username: app}, replication: {username: app}, rewind: {username: app}}
  parameters: {unix_socket_directories: %[7]s, fsync: "off", wal_log_hints: "on", max_connections: 150, shared_buffers: 64MB}
`, name, c.freePort(), store, m.port, m.data(), m.bin, m.dir)
	path := filepath.Join(m.dir, "patroni.yml")
	m.must(os.WriteFile(path, []byte(config), 0o644))
	m.start(exec.Command("patroni", path))
	return m
}

// start runs a program as the server's user until the test ends.
func (m *Member) start(program *exec.Cmd) {
	m.t.Helper()
	log, err := os.Create(filepath.Join(m.dir, "log"))
	m.must(err)
	defer log.Close()
	program.Dir, program.Stdout, program.Stderr = m.dir, log, log
	program.Env = []string{"LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin", "TZ=UTC", "HOME=" + m.dir}
	attr := *m.attr
	attr.Pdeathsig = syscall.SIGTERM // then Patroni stops its server
	program.SysProcAttr = &attr
	m.patroni = program
	m.must(launch(program))
	m.t.Cleanup(func() {
		if m.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			m.t.Logf("%s said\n%s", program.Path, text[max(0, len(text)-4000):])
		}
		m.Kill()
		_ = program.Wait() // killed
		_ = os.RemoveAll(m.dir)
	})
}

// Primary returns the member that accepts writes; nil while there is none.
func (c *Cluster) Primary() *Member {
	for _, m := range c.Members {
		if m.ask("SELECT NOT pg_is_in_recovery()") {
			return m
		}
	}
	return nil
}

// Next waits until another member than this one accepts writes.
func (c *Cluster) Next(but *Member) (next *Member) {
	c.t.Helper()
	c.await("Patroni to promote another member", func() bool {
		for _, m := range c.Members {
			if m != but && m.ask("SELECT NOT pg_is_in_recovery()") {
				next = m
			}
		}
		return next != nil
	})
	return next
}

// Address returns the address of the database on all members.
func (c *Cluster) Address() string { return address(c.Members...) }

// Address returns the address of the database on this member only.
func (m *Member) Address() string { return address(m) }

func address(members ...*Member) string {
	var hosts []string
	for _, m := range members {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", m.port))
	}
	return "postgres://app@" + strings.Join(hosts, ",") + "/postgres?sslmode=disable"
}

// Kill ends the member like a crash of its machine.
func (m *Member) Kill() { m.t.Helper(); m.signal(syscall.SIGKILL) }

// Freeze suspends the member, like a machine that hangs.
func (m *Member) Freeze() { m.t.Helper(); m.signal(syscall.SIGSTOP) }

// Thaw lets it continue.
func (m *Member) Thaw() { m.t.Helper(); m.signal(syscall.SIGCONT) }

// signal signals Patroni first, because Patroni would restart the server.
func (m *Member) signal(signal syscall.Signal) {
	m.t.Helper()
	m.must(signalFamily(m.patroni.Process.Pid, signal))
	text, err := os.ReadFile(filepath.Join(m.data(), "postmaster.pid"))
	if err != nil {
		return // there is no server
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	m.must(err)
	m.must(signalFamily(pid, signal))
}

// ask runs a query with a boolean result; false if there is no answer.
func (m *Member) ask(question string) (yes bool) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, m.Address())
	if err != nil {
		return false
	}
	defer conn.Close(ctx)
	return conn.QueryRow(ctx, question).Scan(&yes) == nil && yes
}

func (m *Member) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(fmt.Errorf("the test's Patroni: %w", err))
	}
}

func (c *Cluster) freePort() int {
	c.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (c *Cluster) await(what string, so func() bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for !so() {
		if ctx.Err() != nil {
			c.t.Fatalf("timed out waiting for %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
