package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/web"
)

// The zone of an address is any text: nobody is told apart by it.
func TestAddressesHaveNoZone(t *testing.T) {
	for remote, forwarded := range map[string]string{"[fe80::1%eth0]:40000": "", "192.0.2.1:1": "fe80::1%<script>"} {
		header := http.Header{}
		if forwarded != "" {
			header.Set("X-Forwarded-For", forwarded)
		}
		if got := web.ClientIP(header, remote); got != "fe80::1" {
			t.Errorf("%s for %q is %q", remote, forwarded, got)
		}
	}
}

// Some proxies write the port that they were called from, or an address of version 4 as one of version 6.
func TestForwardedAddressIsReadAsProxiesWriteIt(t *testing.T) {
	for forwarded, want := range map[string]string{
		"203.0.113.7": "203.0.113.7", "203.0.113.7:5678": "203.0.113.7", " 203.0.113.7:5678 , 10.0.0.1:443": "203.0.113.7",
		"2001:DB8::7": "2001:db8::7", "[2001:db8::7]:443": "2001:db8::7", "[2001:db8::7]": "2001:db8::7", "[fe80::1%eth0]:443": "fe80::1",
		"::ffff:203.0.113.9": "203.0.113.9", "[::ffff:203.0.113.9]:443": "203.0.113.9",
		"unknown": "192.0.2.1", "203.0.113.7:": "192.0.2.1", "203.0.113.7:99999": "192.0.2.1", "[2001:db8::7": "192.0.2.1", "": "192.0.2.1",
	} {
		for _, name := range []string{"X-Forwarded-For", "X-Real-Ip"} {
			if name == "X-Real-Ip" && strings.Contains(forwarded, ",") {
				continue
			}
			if got := web.ClientIP(http.Header{name: {forwarded}}, "[::ffff:192.0.2.1]:1"); got != want {
				t.Errorf("%s %q is %s, want %s", name, forwarded, got, want)
			}
		}
	}
}
