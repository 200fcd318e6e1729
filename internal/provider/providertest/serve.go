package providertest

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
)

// StartServer starts a server at a loopback address that only this process uses. The tests of many packages run at the same time,
// and some clients call a server again after its test has ended. At a shared address such a call could reach the server of
// another test that has the same port by then. If the system has no loopback address but 127.0.0.1, the server is there. The
// caller closes it.
func StartServer(t testing.TB, h http.Handler) *httptest.Server {
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
