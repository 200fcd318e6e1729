package main_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
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

// doors stand before providers, and see that somebody connects before any byte is sent.
type doors struct {
	certificates string // a file for SSL_CERT_FILE

	mu    sync.Mutex // owns armed
	armed map[*server]func()
}

// arm runs do each time somebody connects, while the other side waits for the first byte. do asks the
// database whose payment it is. nil ends that.
func (d *doors) arm(node *server, do func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.armed == nil {
		d.armed = map[*server]func(){}
	}
	if do == nil {
		delete(d.armed, node)
		return
	}
	d.armed[node] = do
}

// waiting returns what runs when somebody connects.
func (d *doors) waiting() []func() {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.armed))
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
	for _, do := range d.waiting() {
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
