package web

import (
	"net/http"
	"net/netip"
	"strings"
)

// Peer is the address that a request is counted under. It is the connection's:
// what a client writes into a header is its own affair. Where the connection
// comes from a trusted proxy, it is the address that this proxy saw, which it
// appended to X-Forwarded-For; hops of further trusted proxies are passed over
// from the right. The zero Addr stands for a connection without one.
func Peer(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, ok := parseHop(r.RemoteAddr)
	if !ok {
		return netip.Addr{}
	}
	hops := r.Header["X-Forwarded-For"]
	for i := len(hops) - 1; i >= 0; i-- {
		line := hops[i]
		for line != "" {
			if !inside(peer, trusted) {
				return peer
			}
			comma := strings.LastIndexByte(line, ',')
			next, ok := parseHop(strings.TrimSpace(line[comma+1:]))
			if !ok {
				return peer // a proxy that does not tell: it answers for its clients
			}
			peer, line = next, line[:max(comma, 0)]
		}
	}
	return peer
}

// parseHop reads an address, with or without a port.
func parseHop(text string) (netip.Addr, bool) {
	if a, err := netip.ParseAddr(text); err == nil {
		return a.Unmap().WithZone(""), true
	}
	a, err := netip.ParseAddrPort(text)
	return a.Addr().Unmap().WithZone(""), err == nil
}

func inside(a netip.Addr, list []netip.Prefix) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
