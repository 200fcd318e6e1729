package web_test

import (
	"net/http"
	"testing"

	"github.com/cascadapay/cascada/internal/bench/growth"
	"github.com/cascadapay/cascada/internal/web"
)

// Headers about the client's address cost no more than their size.
func TestAddressesCostNoMoreThanTheirSize(t *testing.T) {
	for _, text := range []string{"10.0.0.3, ", ",", "[", "fe80::1%", "1.", "::", " "} {
		growth.Of(t, "hops of "+text, 64<<10, growth.Repeated("", text, ""), func(forwarded string) int {
			h := http.Header{"X-Forwarded-For": {forwarded}}
			return len(web.ClientIP(h, "10.0.0.1:1")) + len(web.Peer(&http.Request{RemoteAddr: "10.0.0.1:1", Header: h}, proxies).String())
		})
	}
}
