package web

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/cascadapay/cascada/internal/limit"
)

// Connections is a listener with a bound on the connections that are open, of all and of each
// address. What is too much is closed at once. Trusted proxies are not counted: they have
// bounds of their own, and all clients are behind them.
type Connections struct {
	net.Listener
	places  *limit.Places
	trusted []netip.Prefix
	open    atomic.Int64
	refused atomic.Int64
}

// Bound bounds a listener of TCP connections.
func Bound(l net.Listener, all int, trusted []netip.Prefix) *Connections {
	return &Connections{Listener: l, places: limit.NewPlaces(all), trusted: trusted}
}

// Open counts the connections that are open.
func (c *Connections) Open() int64 { return c.open.Load() }

// Refused counts those that were closed at once.
func (c *Connections) Refused() int64 { return c.refused.Load() }

// Accept is for net.Listener.
func (c *Connections) Accept() (net.Conn, error) {
	for {
		one, err := c.Listener.Accept()
		if err != nil {
			return nil, err
		}
		tcp, isTCP := one.(*net.TCPConn)
		if !isTCP {
			return one, nil
		}
		peer, _ := parseHop(one.RemoteAddr().String())
		leave := func() {}
		if !inside(peer, c.trusted) {
			owner := Subscriber(peer)
			if !c.places.Take(owner, 1) {
				c.refused.Add(1)
				_ = tcp.SetLinger(0) // or the kernel keeps it for a while
				_ = tcp.Close()
				continue
			}
			leave = func() { c.places.Leave(owner, 1) }
		}
		c.open.Add(1)
		return &connection{TCPConn: tcp, leave: sync.OnceFunc(func() { leave(); c.open.Add(-1) })}, nil
	}
}

// connection gives its place back when it is closed.
type connection struct {
	*net.TCPConn
	leave func()
}

// Close is for net.Conn.
func (c *connection) Close() error {
	defer c.leave()
	return c.TCPConn.Close()
}

// Subscriber is whom an address is counted as: of version 6 a subscriber has a whole /64.
func Subscriber(peer netip.Addr) string {
	if peer.Is6() {
		if net, err := peer.Prefix(64); err == nil {
			return net.String()
		}
	}
	return peer.String()
}
