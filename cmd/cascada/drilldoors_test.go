package main_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// strict stands before a provider and keeps each charge call. A charge that came twice is
// charged twice, even with the same reference.
type strict struct {
	mu    sync.Mutex // owns calls
	calls map[string][]charged
}

type charged struct {
	account string
	at      time.Time
}

// before returns a handler that stands before a provider.
func (s *strict) before(account string, upstream http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the service closed the connection
		}
		if r.Method == http.MethodPost && r.URL.Path == "/charges" {
			var asked struct{ Reference string }
			_ = json.Unmarshal(body, &asked) // the upstream refuses invalid JSON
			payment, _, _ := strings.Cut(asked.Reference, "-")
			s.mu.Lock()
			s.calls["TXN-"+payment] = append(s.calls["TXN-"+payment], charged{account, time.Now()})
			s.mu.Unlock()
		}
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		upstream.ServeHTTP(w, r)
	})
}

func (s *strict) of(payment string) []charged {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls[payment])
}

// doors stand before providers, and see who connects before any byte is sent.
type doors struct {
	certificates string // a file for SSL_CERT_FILE

	mu    sync.Mutex // owns armed
	armed map[*server]func()
}

// arm runs do each time a node connects, while the node waits for the first byte of the
// other side. nil ends that.
func (d *doors) arm(node *server, do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.armed == nil {
		d.armed = map[*server]func(){}
	}
	d.armed[node] = do
}

// write creates the file of certificates. All test servers of this package have the same certificate.
func (d *doors) write(t testing.TB) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(d.certificates, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// before returns the address of a handler behind a door. Each connection is used once.
func (d *doors) before(t testing.TB, handler http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.SetKeepAlivesEnabled(false)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // a stopped node hangs up
	server.StartTLS()
	door, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		door.Close()
		server.CloseClientConnections()
		server.Close()
	})
	go func() {
		for {
			conn, err := door.Accept()
			if err != nil {
				return
			}
			go d.admit(conn, server.Listener.Addr().String())
		}
	}()
	return "https://" + door.Addr().String()
}

func (d *doors) admit(conn net.Conn, to string) {
	defer conn.Close()
	if do := d.of(conn); do != nil {
		do()
	}
	inside, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer inside.Close()
	go func() {
		defer inside.Close()
		_, _ = io.Copy(inside, conn)
	}()
	_, _ = io.Copy(conn, inside)
}

// of returns what to run for this connection, by the process that made it.
func (d *doors) of(conn net.Conn) func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	link := "socket:[" + inode(conn) + "]"
	for node, do := range d.armed {
		if do == nil {
			continue
		}
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", node.command.Process.Pid))
		if slices.ContainsFunc(fds, func(fd string) bool { name, err := os.Readlink(fd); return err == nil && name == link }) {
			return do
		}
	}
	return nil
}

// inode returns the kernel's number of the other end of a connection on this machine.
func inode(conn net.Conn) string {
	table, err := os.ReadFile("/proc/net/tcp")
	from, known := conn.RemoteAddr().(*net.TCPAddr)
	if err != nil || !known {
		return ""
	}
	end := fmt.Sprintf("0100007F:%04X", from.Port)
	for line := range bytes.Lines(table) {
		if fields := strings.Fields(string(line)); len(fields) > 9 && fields[1] == end {
			return fields[9]
		}
	}
	return ""
}
