package web_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/web"
)

var proxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}

func fromProxy(a netip.Addr) bool { return proxies[0].Contains(a) || proxies[1].Contains(a) }

// The address that a request is counted under is the connection's, or was told by a proxy that
// is trusted; what stands to the left of it in the header changes nothing.
func FuzzPeer(f *testing.F) {
	for _, forwarded := range []string{
		"198.51.100.1", "1.1.1.1, 10.9.9.9, 198.51.100.1", "10.0.0.3, 10.0.0.2", "198.51.100.1:5555", "198.51.100.1, unknown", "198.51.100.1, ", "",
		"::ffff:198.51.100.1", "[2001:db8::1]:5", "fe80::1%eth0", "for=1.1.1.1;by=2.2.2.2", ",,,", "1.1.1.1\r\nX-Forwarded-For: 2.2.2.2", "\x00",
	} {
		for _, remote := range []string{"203.0.113.9:40000", "10.0.0.1:40000", "[fd00::1]:40000", "[::ffff:10.0.0.1]:40000", "@"} {
			f.Add(remote, forwarded, "1.1.1.1")
		}
	}
	f.Fuzz(func(t *testing.T, remote, forwarded, forged string) {
		peer := func(lines ...string) netip.Addr {
			return web.Peer(&http.Request{RemoteAddr: remote, Header: http.Header{"X-Forwarded-For": lines}}, proxies)
		}
		bare, got := peer(), peer(forwarded)
		if got.Zone() != "" || got.Is4In6() {
			t.Errorf("%q by %q is counted under %s, which is written in two ways", forwarded, remote, got)
		}
		if !fromProxy(bare) && got != bare {
			t.Errorf("%q chose %s", remote, got)
		}
		if got != bare && !strings.Contains(forwarded, ".") && !strings.Contains(forwarded, ":") {
			t.Errorf("%q told of nobody, and is counted under %s", forwarded, got)
		}
		// A header of a client that is no proxy goes to the left of what the proxies add.
		if !fromProxy(got) && peer(forged+","+forwarded) != got && strings.TrimSpace(forwarded) != "" {
			t.Errorf("%q before %q by %q: %s, not %s", forged, forwarded, remote, peer(forged+","+forwarded), got)
		}
		if !fromProxy(got) && peer(forged, forwarded) != got && forwarded != "" {
			t.Errorf("a line %q before %q by %q: %s, not %s", forged, forwarded, remote, peer(forged, forwarded), got)
		}
	})
}

// What a client says of its own address is an address, or is not taken over.
func FuzzClientIP(f *testing.F) {
	f.Add("198.51.100.1, 10.0.0.1", "", "203.0.113.9:40000")
	f.Add("unknown", "2001:db8::1", "203.0.113.9:40000")
	f.Add("", "", "@")
	f.Add("0", "::%,", "0")
	f.Add("fe80::1%\x00\"<script>", " 1.1.1.1 ", "[::1]:1")
	f.Fuzz(func(t *testing.T, forwarded, real, remote string) {
		bare := web.ClientIP(http.Header{}, remote)
		got := web.ClientIP(http.Header{"X-Forwarded-For": {forwarded}, "X-Real-Ip": {real}}, remote)
		if got == bare {
			return
		}
		ip, err := netip.ParseAddr(got)
		if err != nil || ip.Zone() != "" || ip.String() != got {
			t.Errorf("%q and %q by %q: %q is no address, or more than one", forwarded, real, remote, got)
		}
		if again := web.ClientIP(http.Header{"X-Forwarded-For": {got}}, remote); again != got {
			t.Errorf("%q is read again as %q", got, again)
		}
	})
}
