package providertest

import (
	"net"
	"net/http"
	"net/url"
	"runtime"
	"testing"
)

// TestServerMeetsNoClientOfAnotherTest: a client that calls 127.0.0.1 at the port of a server that is gone does not reach a
// server that has the port now.
func TestServerMeetsNoClientOfAnotherTest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system has one loopback address")
	}
	server := Serve(t, http.NotFoundHandler())
	defer server.Close()
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", at.Port())); err == nil {
		t.Error("a client of the shared address reaches it")
		_ = conn.Close()
	}
	conn, err := net.Dial("tcp", at.Host)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}
