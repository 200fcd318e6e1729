package web

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cascadapay/cascada/internal/limit"
)

// Connections is a listener with a limit on open connections, in total and per address.
// Connections above the limit are closed at once. Trusted proxies are not counted: they
// have their own limits, and all clients are behind them.
//
// The server gets a connection only when its first byte arrives. Until then a silent
// connection costs a small stack and no buffers, so that thousands of them do not burden
// the garbage collector.
type Connections struct {
	*net.TCPListener
	places  *limit.Places
	trusted []netip.Prefix
	open    atomic.Int64
	refused atomic.Int64

	begun    sync.Once
	accepted chan accepted
	closed   chan struct{}
	close    func() error
	mu       sync.Mutex
	silent   map[*connection]bool // nil once the listener is closed; under mu
}

// accepted is a connection with its first byte, or an error.
type accepted struct {
	connection *connection
	err        error
}

// silence is how long a connection may be silent before it is closed.
const silence = headersWithin

// Bound bounds a listener.
func Bound(l *net.TCPListener, all int, trusted []netip.Prefix) *Connections {
	c := &Connections{
		TCPListener: l, places: limit.NewPlaces(all), trusted: trusted,
		accepted: make(chan accepted), closed: make(chan struct{}), silent: map[*connection]bool{},
	}
	c.close = sync.OnceValue(c.end)
	return c
}

// Open counts the connections that are open.
func (c *Connections) Open() int64 { return c.open.Load() }

// Refused counts those that were closed at once.
func (c *Connections) Refused() int64 { return c.refused.Load() }

// Accept implements net.Listener.
func (c *Connections) Accept() (net.Conn, error) {
	c.begun.Do(func() { go c.acceptAll() })
	select {
	case got := <-c.accepted:
		if got.err != nil {
			return nil, got.err
		}
		return got.connection, nil
	case <-c.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. It also closes the silent connections.
func (c *Connections) Close() error { return c.close() }

func (c *Connections) end() error {
	err := c.TCPListener.Close()
	close(c.closed)
	c.mu.Lock()
	defer c.mu.Unlock()
	for one := range c.silent {
		_ = one.Close() // it sent nothing, and gets no answer
	}
	c.silent = nil
	return err
}

// acceptAll accepts connections until the listener is closed. An error waits until the
// server takes it, so that the server's pause between errors works here too.
func (c *Connections) acceptAll() {
	for {
		one, err := c.AcceptTCP()
		if err != nil {
			select {
			case c.accepted <- accepted{err: err}:
				continue
			case <-c.closed:
				return
			}
		}
		if kept := c.place(one); kept != nil {
			go c.listen(kept)
		}
	}
}

// place reserves a place for a connection, or closes it and returns nil.
func (c *Connections) place(one *net.TCPConn) *connection {
	leave := func() {}
	if peer, _ := parseHop(one.RemoteAddr().String()); !inside(peer, c.trusted) {
		owner := Subscriber(peer)
		if !c.places.Acquire(owner, 1) {
			c.refused.Add(1)
			_ = one.SetLinger(0) // or the kernel keeps it for a while
			_ = one.Close()
			return nil
		}
		leave = func() { c.places.Leave(owner, 1) }
	}
	c.open.Add(1)
	kept := &connection{TCPConn: one, leave: sync.OnceFunc(func() { leave(); c.open.Add(-1) })}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent == nil {
		_ = kept.Close()
		return nil
	}
	c.silent[kept] = true
	return kept
}

// listen waits for a connection's first byte, and then passes it to the server.
func (c *Connections) listen(one *connection) {
	spoke := one.wait(silence)
	c.mu.Lock()
	delete(c.silent, one)
	c.mu.Unlock()
	if !spoke {
		_ = one.Close()
		return
	}
	select {
	case c.accepted <- accepted{connection: one}:
	case <-c.closed:
		_ = one.Close()
	}
}

// The HTTP server closes its half of a connection first, so that a reply arrives whole even
// if the request's body was not read.
var _ interface{ CloseWrite() error } = (*connection)(nil)

// connection releases its place when it is closed.
type connection struct {
	*net.TCPConn
	leave func()
	first [1]byte // its first byte
	ahead bool    // first was not yet read by the server
}

// wait returns whether the first byte arrives in time.
func (co *connection) wait(most time.Duration) bool {
	if co.SetReadDeadline(time.Now().Add(most)) != nil {
		return false
	}
	n, _ := co.TCPConn.Read(co.first[:]) // an end, an error and silence count the same here
	co.ahead = n == 1
	return co.ahead && co.SetReadDeadline(time.Time{}) == nil
}

// Read implements net.Conn.
func (co *connection) Read(p []byte) (int, error) {
	if co.ahead && len(p) > 0 {
		co.ahead = false
		p[0] = co.first[0]
		return 1, nil
	}
	return co.TCPConn.Read(p)
}

// WriteTo implements io.WriterTo: TCPConn's own would skip the first byte.
func (co *connection) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{co})
}

// Close implements net.Conn.
func (co *connection) Close() error {
	defer co.leave()
	return co.TCPConn.Close()
}

// Subscriber is the key under which an address is counted: for IPv6 it is the /64, which a
// subscriber has as a whole.
func Subscriber(peer netip.Addr) string {
	if peer.Is6() {
		if net, err := peer.Prefix(64); err == nil {
			return net.String()
		}
	}
	return peer.String()
}
