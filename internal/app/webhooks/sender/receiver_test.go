package sender_test

import (
	"bufio"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

// A Sender holds connections open, and each has two goroutines. None may be left
// once every Sender of these tests is closed.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// arrival is one request as an endpoint saw it.
type arrival struct {
	method, uri, proto string
	header             http.Header
	body               []byte
}

// receiver is an endpoint that keeps what arrives.
type receiver struct {
	*httptest.Server
	connections atomic.Int64

	mu       sync.Mutex
	arrivals []arrival // guarded by mu
}

// newReceiver starts an endpoint that reads each request to its end and then answers
// with answer. It speaks TLS as secure says, and plain HTTP when that is nil.
func newReceiver(t *testing.T, secure *tls.Config, answer http.HandlerFunc) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Errorf("reading a delivery failed: %v", err)
		}
		r.mu.Lock()
		r.arrivals = append(r.arrivals, arrival{q.Method, q.RequestURI, q.Proto, q.Header, body})
		r.mu.Unlock()
		answer(w, q)
	}))
	r.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			r.connections.Add(1)
		}
	}
	// A handshake that fails is what some tests are about.
	r.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(r.Close)
	if secure == nil {
		r.Start()
		return r
	}
	r.TLS = secure
	r.StartTLS()
	return r
}

// arrived returns what has arrived until now.
func (r *receiver) arrived() []arrival {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]arrival(nil), r.arrivals...)
}

// only returns the one request that arrived.
func (r *receiver) only(t *testing.T) arrival {
	t.Helper()
	all := r.arrived()
	if len(all) != 1 {
		t.Fatalf("%d requests arrived, want one", len(all))
	}
	return all[0]
}

// answerOK is an answer of 200.
func answerOK(http.ResponseWriter, *http.Request) {}

// listen opens a port on loopback that nobody serves yet.
func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening failed: %v", err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener
}

// newRawReceiver starts an endpoint that speaks only in turns: on connection n it
// answers request i with turns[n][i], byte for byte, and hangs up after the last. An
// empty turn hangs up as well. It returns its URL and how many requests it has read.
func newRawReceiver(t *testing.T, turns ...[]string) (url string, requests *atomic.Int64) {
	t.Helper()
	listener := listen(t)
	requests = new(atomic.Int64)
	var owner sync.WaitGroup
	owner.Go(func() {
		for _, answers := range turns {
			conn, err := listener.Accept()
			if err != nil {
				return // the test is over
			}
			owner.Go(func() {
				defer conn.Close()
				speak(conn, answers, requests)
			})
		}
	})
	t.Cleanup(func() { listener.Close(); owner.Wait() })
	return "http://" + listener.Addr().String(), requests
}

func speak(conn net.Conn, answers []string, requests *atomic.Int64) {
	from := bufio.NewReader(conn)
	for _, answer := range answers {
		request, err := http.ReadRequest(from)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, request.Body); err != nil {
			return
		}
		requests.Add(1)
		if answer == "" {
			return
		}
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

// wasDialled reports whether anybody connected to listener before now. Connections
// are accepted in the order they were made, so our own tells.
func wasDialled(t *testing.T, listener net.Listener) bool {
	t.Helper()
	ours, err := net.Dial("tcp4", listener.Addr().String())
	if err != nil {
		t.Fatalf("connecting to our own port failed: %v", err)
	}
	defer ours.Close()
	first, err := listener.Accept()
	if err != nil {
		t.Fatalf("accepting our own connection failed: %v", err)
	}
	defer first.Close()
	return first.RemoteAddr().String() != ours.LocalAddr().String()
}
