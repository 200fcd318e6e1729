package web_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/cascadapay/cascada/internal/web"
)

func TestNobodyChoosesTheAddressTheyAreCountedUnder(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		name, remote string
		forwarded    []string
		trusted      []netip.Prefix
		want         string
	}{
		{"nothing forwarded", "203.0.113.9:40000", nil, trusted, "203.0.113.9"},
		{"a stranger forwards", "203.0.113.9:40000", []string{"198.51.100.1"}, trusted, "203.0.113.9"},
		{"nobody is trusted", "10.0.0.1:40000", []string{"198.51.100.1"}, nil, "10.0.0.1"},
		{"a proxy forwards", "10.0.0.1:40000", []string{"198.51.100.1"}, trusted, "198.51.100.1"},
		{"the client forged a hop", "10.0.0.1:40000", []string{"1.1.1.1, 198.51.100.1"}, trusted, "198.51.100.1"},
		{"the client forged a trusted hop", "10.0.0.1:40000", []string{"1.1.1.1, 10.9.9.9, 198.51.100.1"}, trusted, "198.51.100.1"},
		{"two proxies", "10.0.0.1:40000", []string{"198.51.100.1, 10.0.0.2"}, trusted, "198.51.100.1"},
		{"a line each", "10.0.0.1:40000", []string{"1.1.1.1", "198.51.100.1", "10.0.0.2"}, trusted, "198.51.100.1"},
		{"all are proxies", "10.0.0.1:40000", []string{"10.0.0.3, 10.0.0.2"}, trusted, "10.0.0.3"},
		{"a hop with a port", "10.0.0.1:40000", []string{"198.51.100.1:5555"}, trusted, "198.51.100.1"},
		{"nonsense", "10.0.0.1:40000", []string{"198.51.100.1, unknown"}, trusted, "10.0.0.1"},
		{"an empty hop", "10.0.0.1:40000", []string{"198.51.100.1, "}, trusted, "10.0.0.1"},
		{"an empty line", "10.0.0.1:40000", []string{""}, trusted, "10.0.0.1"},
		{"version 4 within 6", "[::ffff:10.0.0.1]:40000", []string{"::ffff:198.51.100.1"}, trusted, "198.51.100.1"},
		{"version 6", "[fd00::1]:40000", []string{"2001:db8::1"}, trusted, "2001:db8::1"},
		{"version 6 with a port", "[fd00::1]:40000", []string{"[2001:db8::1]:5"}, trusted, "2001:db8::1"},
		{"a zone", "[fe80::1%eth0]:40000", nil, nil, "fe80::1"},
		{"no address", "@", []string{"198.51.100.1"}, trusted, "invalid IP"},
	} {
		r := &http.Request{RemoteAddr: c.remote, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := web.Peer(r, c.trusted).String(); got != c.want {
			t.Errorf("%s: counted under %s, want %s", c.name, got, c.want)
		}
	}
}
