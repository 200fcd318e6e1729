package dbtest

import (
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// Line stands between a service and its PostgreSQL, and fails as a test wants.
type Line struct {
	Address string // of the database behind it

	target string
	down   atomic.Bool
	deaf   atomic.Bool
	mu     sync.Mutex // owns open
	open   map[net.Conn]struct{}
}

// socket is the name that PostgreSQL gives its own.
const socket = ".s.PGSQL.5432"

// Behind puts a line before a database that Postgres has made.
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
	l := &Line{target: filepath.Join(query.Get("host"), socket), open: map[net.Conn]struct{}{}}
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
		l.Cut()
		served.Wait()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return l
}

// Down says whether connections are refused from now on.
func (l *Line) Down(down bool) { l.down.Store(down) }

// Deaf says whether what the database replies is lost from now on: it does all that
// it is told, and nobody hears of it.
func (l *Line) Deaf(deaf bool) { l.deaf.Store(deaf) }

// Cut ends every connection, wherever it is.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for conn := range l.open {
		conn.Close()
	}
}

func (l *Line) serve(client net.Conn) {
	defer client.Close()
	if l.down.Load() {
		return
	}
	database, err := net.Dial("unix", l.target)
	if err != nil {
		return
	}
	defer database.Close()
	l.mu.Lock()
	l.open[client] = struct{}{}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, client)
	}()
	go func() {
		// What came before the cut is done, as it is when a network fails.
		defer database.Close()
		_, _ = io.Copy(database, client)
	}()
	_, _ = io.Copy(hearing{l, client}, database)
}

// hearing passes on what it is given, unless its line is deaf.
type hearing struct {
	line *Line
	to   net.Conn
}

func (h hearing) Write(b []byte) (int, error) {
	if h.line.deaf.Load() {
		return len(b), nil
	}
	return h.to.Write(b)
}
