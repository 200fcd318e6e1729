package web

import (
	"net/http"
	"net/netip"
	"strings"
)

// Peer is the address under which a request is counted. It is the connection's, because a
// client can write anything into a header. If the connection comes from a trusted proxy, it
// is the address that this proxy saw and appended to X-Forwarded-For; further trusted
// proxies are skipped from the right. The zero Addr means a connection without an address.
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
				return peer // the proxy sent no address, so it is counted for its clients
			}
			peer, line = next, line[:max(comma, 0)]
		}
	}
	return peer
}

// parseHop reads an address as proxies write it: with or without brackets or a port. It has no zone, which is any text with a
// meaning only on its own machine, and an address of version 4 is never written as one of version 6.
func parseHop(text string) (netip.Addr, bool) {
	bare := text
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		bare = text[1 : len(text)-1]
	}
	if a, err := netip.ParseAddr(bare); err == nil {
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
