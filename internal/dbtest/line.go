package dbtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// Line is a network between a service and its PostgreSQL, which fails as a test requests.
type Line struct {
	Address string // of the database behind it

	dir    string
	target string
	down   atomic.Bool
	deaf   atomic.Bool
	every  atomic.Int64 // one of this many replies to commits is lost; 0: none
	heard  atomic.Int64 // commits whose reply arrived
	before atomic.Pointer[func()]
	lost   atomic.Int64
	mu     sync.Mutex // guards what follows
	open   map[net.Conn]struct{}
	parted chan struct{} // closed when traffic continues; nil while it flows
}

// socket is the name of PostgreSQL's own socket.
const socket = ".s.PGSQL.5432"

// Behind puts a line in front of a database from Postgres.
func Behind(t testing.TB, database string) *Line {
	t.Helper()
	address, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "cascada-line") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	l := &Line{dir: dir, target: filepath.Join(query.Get("host"), socket), open: map[net.Conn]struct{}{}}
	query.Set("host", dir)
	address.RawQuery = query.Encode()
	l.Address = address.String()
	listener, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			served.Go(func() { l.serve(conn) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		l.Part(false)
		l.Cut()
		served.Wait()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return l
}

// Down sets whether connections are refused from now on.
func (l *Line) Down(down bool) { l.down.Store(down) }

// Deaf sets whether the database's replies are lost from now on: it does everything, but
// the service does not hear of it.
func (l *Line) Deaf(deaf bool) { l.deaf.Store(deaf) }

// Lose makes the line cut the connection instead of passing on the reply to every every-th
// commit: the commit is done, but the service does not hear of it. 0 ends that.
func (l *Line) Lose(every int) { l.every.Store(int64(every)) }

// Lost returns how many replies to commits were lost by Lose.
func (l *Line) Lost() int { return int(l.lost.Load()) }

// Part sets whether the line holds all traffic from now on, in both directions: connections
// stay open, new ones are made, and the data arrives when that ends.
func (l *Line) Part(parted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case parted && l.parted == nil:
		l.parted = make(chan struct{})
	case !parted && l.parted != nil:
		close(l.parted)
		l.parted = nil
	}
}

// pass waits until traffic may pass.
func (l *Line) pass() {
	l.mu.Lock()
	parted := l.parted
	l.mu.Unlock()
	if parted != nil {
		<-parted
	}
}

func (l *Line) host() string { return l.dir }

// Before calls do after each commit, before its reply is passed on. nil ends that.
func (l *Line) Before(do func()) {
	if do == nil {
		l.before.Store(nil)
		return
	}
	l.before.Store(&do)
}

// Cut ends every connection.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.open {
		conn.Close()
	}
}

func (l *Line) serve(client net.Conn) {
	defer client.Close()
	l.mu.Lock() // first of all: a cut ends open connections too
	l.open[client] = struct{}{}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, client)
	}()
	if l.down.Load() {
		return
	}
	l.pass()
	database, err := net.Dial("unix", l.target)
	if err != nil {
		return
	}
	defer database.Close()
	go func() {
		// Everything before the cut is done, as in a real network failure.
		defer database.Close()
		_, _ = io.Copy(&telling{line: l, to: database}, client)
	}()
	_, _ = io.Copy(&hearing{line: l, to: client}, database)
}

// telling passes on the client's data, while traffic may pass.
type telling struct {
	line *Line
	to   net.Conn
}

func (t *telling) Write(b []byte) (int, error) {
	t.line.pass()
	return t.to.Write(b)
}

// hearing passes on the database's data, unless the line is deaf or loses it.
type hearing struct {
	line *Line
	to   net.Conn
	rest []byte // of an incomplete message
}

var errLost = errors.New("the answer to a commit is lost")

// answer is PostgreSQL's message for a completed commit.
var answer = []byte("COMMIT\x00")

func (h *hearing) Write(b []byte) (int, error) {
	h.line.pass()
	if h.line.deaf.Load() {
		return len(b), nil
	}
	h.rest = append(h.rest, b...)
	whole := 0
	for {
		message := h.rest[whole:]
		if len(message) < 5 {
			break
		}
		size := 1 + int(binary.BigEndian.Uint32(message[1:]))
		if len(message) < size {
			break
		}
		if message[0] == 'C' && bytes.Equal(message[5:size], answer) {
			if do := h.line.before.Load(); do != nil {
				(*do)()
			}
			if h.line.loses() {
				return 0, errLost
			}
		}
		whole += size
	}
	if _, err := h.to.Write(h.rest[:whole]); err != nil {
		return 0, err
	}
	h.rest = append(h.rest[:0], h.rest[whole:]...)
	return len(b), nil
}

// loses reports whether the current reply is lost.
func (l *Line) loses() bool {
	every := l.every.Load()
	if every == 0 || l.heard.Add(1)%every != 0 {
		return false
	}
	l.lost.Add(1)
	return true
}
