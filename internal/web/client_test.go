package web_test

import (
	"net/http"
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
