package web_test

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/web"
)

// bounded serves on a listener with a bound of so many connections, and counts those that the
// server gets.
func bounded(t *testing.T, most int, h http.Handler) (*web.Connections, *http.Server, *atomic.Int64) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := web.Bound(inner.(*net.TCPListener), most, nil)
	server := web.Server(h, slog.New(slog.DiscardHandler))
	got := new(atomic.Int64)
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			got.Add(1)
		}
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the server ended with %v", err)
		}
	})
	return l, server, got
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// within waits until something is so.
func within(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

func TestSilentConnectionsAreNotYetTheServers(t *testing.T) {
	l, server, got := bounded(t, 100, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(w, r.Method+string(body))
	}))
	silent := dial(t, l)
	within(t, "the silent connection is counted", func() bool { return l.Open() == 1 })

	// One that speaks is served meanwhile, and loses no byte, however it is cut.
	c := dial(t, l)
	reply := bufio.NewReader(c)
	for range 2 {
		for piece := range strings.SplitSeq("P|OST / HTTP/1.1\r\nHost: x\r\nContent-Le|ngth: 3\r\n\r\na|bc", "|") {
			if _, err := io.WriteString(c, piece); err != nil {
				t.Fatal(err)
			}
		}
		r, err := http.ReadResponse(reply, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(r.Body); err != nil || string(body) != "POSTabc" {
			t.Errorf("%q, %v", body, err)
		}
	}
	if n := got.Load(); n != 1 {
		t.Errorf("the server has %d connections, want the one that spoke", n)
	}

	// The end of the server ends the silent one, and gives its place back.
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if _, err := silent.Read(make([]byte, 1)); err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("the silent connection is open: %v", err)
	}
	within(t, "no place is taken", func() bool { return l.Open() == 0 })
}

func TestSilentConnectionGivesItsPlaceBack(t *testing.T) {
	l, _, _ := bounded(t, 2, http.NotFoundHandler()) // one of an address
	first := dial(t, l)
	within(t, "it is counted", func() bool { return l.Open() == 1 })
	if refused, err := net.Dial("tcp", l.Addr().String()); err == nil { // it may be closed before it is open
		defer refused.Close()
		if _, err := refused.Read(make([]byte, 1)); err == nil {
			t.Error("a second one is not closed")
		}
	}
	within(t, "it is counted as refused", func() bool { return l.Refused() == 1 })
	first.Close() // before it has said a word
	within(t, "its place is free", func() bool { return l.Open() == 0 })
	if _, err := io.WriteString(dial(t, l), "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Error(err)
	}
}

// However clients begin and end, the server's connections and its goroutines are those of clients that are
// still there, and each place is given back once.
func TestOddClientsLeaveNothingBehind(t *testing.T) {
	l, _, _ := bounded(t, 1000, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a client may have gone
	}))
	first := dial(t, l)
	within(t, "it listens", func() bool { return l.Open() == 1 })
	first.Close()
	within(t, "it listens to nobody", func() bool { return l.Open() == 0 })
	before := runtime.NumGoroutine() + 1 // the first's may have ended, or not yet
	odd := map[string]func(c *net.TCPConn){
		"says nothing":       func(*net.TCPConn) {},
		"ends before a word": func(c *net.TCPConn) { _ = c.CloseWrite() },
		"says a byte":        func(c *net.TCPConn) { _, _ = io.WriteString(c, "G") },
		"says half": func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab")
		},
		"asks and hangs up": func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			_ = c.CloseWrite()
		},
		"asks twice at once": func(c *net.TCPConn) { _, _ = io.WriteString(c, strings.Repeat("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 2)) },
		"speaks HTTP/2": func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
		},
		"speaks TLS": func(c *net.TCPConn) { _, _ = io.WriteString(c, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03") },
		"comes through a proxy": func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nGET / HTTP/1.1\r\n\r\n")
		},
		"is gone at once":    func(c *net.TCPConn) { _ = c.SetLinger(0); _ = c.Close() },
		"speaks and is gone": func(c *net.TCPConn) { _, _ = io.WriteString(c, "GET"); _ = c.SetLinger(0); _ = c.Close() },
		"asks to stay, and stays": func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n")
		},
	}
	var open []net.Conn
	for range 15 {
		for _, does := range odd {
			c := dial(t, l)
			does(c.(*net.TCPConn))
			open = append(open, c)
		}
	}
	for _, c := range open {
		c.Close()
	}
	within(t, "no place is taken", func() bool { return l.Open() == 0 })
	within(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	if n := l.Refused(); n != 0 {
		t.Errorf("%d are refused", n)
	}
	// All places are there: half of them for one address.
	for range 500 {
		dial(t, l)
	}
	within(t, "every place is free again", func() bool { return l.Open() == 500 })
	if n := l.Refused(); n != 0 {
		t.Errorf("%d are refused", n)
	}
}
