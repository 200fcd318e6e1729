package providertest

import (
	"net"
	"net/http"
	"os"
	"testing"
)

// TestServersOfProcessesHaveTheirOwnAddresses: a server is not at the loopback address that the servers of all processes share,
// if the system has others.
func TestServersOfProcessesHaveTheirOwnAddresses(t *testing.T) {
	other, err := net.Listen("tcp", "127.64.0.1:0")
	if err != nil {
		t.Skip("the system has one loopback address:", err)
	}
	_ = other.Close()
	server := StartServer(t, http.NotFoundHandler())
	defer server.Close()
	at, shared := server.Listener.Addr().(*net.TCPAddr).IP, net.IPv4(127, 0, 0, 1)
	if !at.IsLoopback() || at.Equal(shared) {
		t.Errorf("the server of process %d is at %s", os.Getpid(), at)
	}
	reply, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = reply.Body.Close()
	if reply.StatusCode != http.StatusNotFound {
		t.Errorf("it answers %d", reply.StatusCode)
	}
}
