package providertest

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// Serve starts a server at a loopback address that only this process uses. The tests of many packages run at once, and some
// clients call a server again after its test: at a shared address they would meet the next test's server at the same port.
// A system that has no loopback address but 127.0.0.1 uses that. The caller closes the server.
func Serve(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	process := os.Getpid()
	listener, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 64+process>>16&63, process>>8&255, process&255))
	if err != nil {
		listener, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: h}} //nolint:gosec // as httptest.NewServer has it
	server.Start()
	return server
}
