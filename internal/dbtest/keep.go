package dbtest

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Keep, if a package sets it before its tests, keeps the databases of PostgreSQL and their sessions for the
// next test: a test gets a database that is empty again (empty.go), and sessions that have prepared and planned
// most of its statements. Making new ones takes PostgreSQL longer than everything that a test asks of it.
var Keep bool

// keeper is between the tests and PostgreSQL. It gives a client a session that an earlier client left at
// rest, if there is one.
type keeper struct {
	server *instance
	dir    string
	loans  atomic.Int64

	mu   sync.Mutex
	free []*spare
}

// spare is a database that one test after another uses.
type spare struct {
	name  string
	admin *pgx.Conn // empties it

	mu       sync.Mutex
	listener net.Listener // of the test that has it; nil: none has
	ended    *sync.Cond   // a client has ended
	clients  int          // each until its session rests or has ended
	sessions []*session   // in the order in which they were opened: a service opens its connections in much the same order each time
}

// restLimit is how many sessions of a database rest at most. A node has 15.
const restLimit = 16

// keepGrace is how long a database waits for the end of its clients.
const keepGrace = 5 * time.Second

func newKeeper(server *instance) (*keeper, error) {
	k := &keeper{server: server, dir: filepath.Join(server.dir, "kept")}
	return k, os.Mkdir(k.dir, 0o755)
}

// database returns the address of an empty copy of the prepared database.
func (k *keeper) database(t testing.TB, original string) string {
	t.Helper()
	d, err := k.acquire(original)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := k.lend(d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.giveBack(d); err != nil {
			t.Error(err)
		}
	})
	return fmt.Sprintf("postgres:///%s?host=%s&user=app&sslmode=disable", d.name, dir)
}

// lend accepts clients of a database in a directory that only this test has: a client that an earlier test left alive
// knows only that test's directory, where nobody listens any more.
func (k *keeper) lend(d *spare) (dir string, err error) {
	dir = filepath.Join(k.dir, strconv.FormatInt(k.loans.Add(1), 10))
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	listener, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	d.listener = listener
	d.mu.Unlock()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go k.serve(conn, d, listener)
		}
	}()
	return dir, nil
}

// acquire returns a database that no test uses, or a new one.
func (k *keeper) acquire(original string) (*spare, error) {
	k.mu.Lock()
	if n := len(k.free); n > 0 {
		d := k.free[n-1]
		k.free = k.free[:n-1]
		k.mu.Unlock()
		return d, nil
	}
	k.mu.Unlock()
	ctx := context.Background()
	d := &spare{name: fmt.Sprintf("k%d", k.server.databases.Add(1))}
	d.ended = sync.NewCond(&d.mu)
	if err := k.server.exec(ctx, "CREATE DATABASE "+d.name+" TEMPLATE "+original+" STRATEGY file_copy"); err != nil {
		return nil, err
	}
	var err error
	if d.admin, err = pgx.Connect(ctx, k.server.dsn(d.name)); err != nil {
		return nil, err
	}
	if _, err := d.admin.Exec(ctx, "SET session_replication_role = replica; SET lock_timeout = '2s'", pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, err
	}
	return d, nil
}

// giveBack empties a database for the next test. One that cannot be emptied, or whose schema was changed, is
// dropped.
func (k *keeper) giveBack(d *spare) error {
	ctx := context.Background() // the test's own context has ended
	var err error
	empty := d.quiet()
	if empty {
		empty, err = d.empty(ctx)
	}
	if empty {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.free = append(k.free, d)
		return nil
	}
	_ = d.admin.Close(ctx)
	return errors.Join(err, k.server.exec(ctx, "DROP DATABASE "+d.name+" WITH (FORCE)"))
}

// lockTimeout is the code for a lock that was not free in time.
const lockTimeout = "55P03"

// empty empties the database, and reports whether it is as it was. A lock that a test left, or a test that ended all
// sessions, is not an error.
func (sp *spare) empty(ctx context.Context) (same bool, err error) {
	err = sp.admin.QueryRow(ctx, "SELECT dbtest.empty()").Scan(&same)
	if e, answered := errors.AsType[*pgconn.PgError](err); sp.admin.IsClosed() || answered && e.Code == lockTimeout {
		return false, nil
	}
	return same, err
}

// quiet refuses new clients, waits for the end of all clients, and reports whether they have ended.
func (sp *spare) quiet() bool {
	late := false
	timer := time.AfterFunc(keepGrace, func() {
		sp.mu.Lock()
		defer sp.mu.Unlock()
		late = true
		sp.ended.Broadcast()
	})
	defer timer.Stop()
	sp.mu.Lock()
	defer sp.mu.Unlock()
	_ = sp.listener.Close() // a local socket
	sp.listener = nil
	for sp.clients > 0 && !late {
		sp.ended.Wait()
	}
	return sp.clients == 0
}

// cancelRequest is what a first message has in place of a version if it asks to cancel another session's
// statement.
const cancelRequest = 80877102

// serve serves one client, which connected through a listener.
func (k *keeper) serve(client net.Conn, d *spare, by net.Listener) {
	defer client.Close()
	in := bufio.NewReader(client)
	head := make([]byte, 8)
	if _, err := io.ReadFull(in, head); err != nil {
		return
	}
	size := binary.BigEndian.Uint32(head)
	if size < 8 || size > 1<<16 {
		return
	}
	hello := append(head, make([]byte, size-8)...)
	if _, err := io.ReadFull(in, hello[8:]); err != nil {
		return
	}
	if binary.BigEndian.Uint32(head[4:8]) == cancelRequest {
		k.cancel(hello)
		return
	}
	s, err := d.open(k.server, hello, by)
	if refused, answered := errors.AsType[refusal](err); answered {
		_, _ = client.Write(refused)
	}
	if err != nil {
		return
	}
	d.done(s, s.carry(client, in))
}

// cancel passes a request to cancel on.
func (k *keeper) cancel(request []byte) {
	conn, err := net.Dial("unix", filepath.Join(k.server.dir, socket))
	if err != nil {
		return
	}
	defer conn.Close()
	if _, err := conn.Write(request); err == nil {
		_, _ = io.Copy(io.Discard, conn) // the server closes when it has done it
	}
}

// texts splits a list of texts that each end with a zero.
func texts(b []byte) (list []string) {
	for len(b) > 0 {
		end := slices.Index(b, 0)
		if end < 0 {
			break
		}
		list = append(list, string(b[:end]))
		b = b[end+1:]
	}
	return list
}

// parameters lists the parameters of a client's first message in a fixed order: clients send them in any
// order.
func parameters(hello []byte) string {
	var pairs []string
	for list := texts(hello[8:]); len(list) > 1; list = list[2:] {
		pairs = append(pairs, list[0]+"="+list[1])
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "\n")
}

// open returns the first session at rest with the client's parameters, or a new one. A session may serve a reader after a
// committer: PostgreSQL keeps the plans that it made with the settings of the one that asked first.
func (sp *spare) open(server *instance, hello []byte, by net.Listener) (*session, error) {
	as := parameters(hello)
	sp.mu.Lock()
	if sp.listener != by {
		sp.mu.Unlock()
		return nil, errEnded
	}
	sp.clients++
	for _, s := range sp.sessions {
		if s.resting && s.parameters == as && !s.ended() {
			s.resting = false
			sp.mu.Unlock()
			return s, nil
		}
	}
	sp.mu.Unlock()
	s, err := dialSession(server, hello)
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if err != nil {
		sp.clients--
		sp.ended.Broadcast()
		return nil, err
	}
	sp.sessions = append(sp.sessions, s)
	go func() {
		s.read()
		sp.forget(s)
	}()
	return s, nil
}

// done ends a client's use of a session. It rests, or ends when PostgreSQL has done what the client sent: until then
// the database is not emptied.
func (sp *spare) done(s *session, rest bool) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if rest = rest && sp.resting() < restLimit; !rest {
		sp.mu.Unlock()
		s.end()
		sp.mu.Lock()
	}
	s.resting = rest
	sp.clients--
	sp.ended.Broadcast()
}

func (sp *spare) resting() (n int) {
	for _, s := range sp.sessions {
		if s.resting {
			n++
		}
	}
	return n
}

// forget removes a session that has ended.
func (sp *spare) forget(s *session) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	sp.sessions = slices.DeleteFunc(sp.sessions, func(other *session) bool { return other == s })
}

var errEnded = errors.New("the client's test has ended")

var errMessage = errors.New("a message has a length that none of PostgreSQL's has")
