package access

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// dialFrom connects to the service from an address of 127.0.0.0/8.
func dialFrom(t *testing.T, s *harness.Instance, address string) net.Conn {
	t.Helper()
	c, err := tryDial(t, s, address)
	harness.Must(t, err)
	return c
}

func tryDial(t *testing.T, s *harness.Instance, address string) (net.Conn, error) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	c, err := d.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { c.Close() })
	return c, c.SetDeadline(time.Now().Add(harness.Patience))
}

// blanks is made once: with the race detector, new memory costs as much as sending it.
var blanks = bytes.Repeat([]byte(" "), 16<<20)

// begin sends the headers of a POST request whose body is length bytes, and the first come bytes of
// the body. It returns false if the service closed the connection before it read them.
func begin(c net.Conn, path string, length, come int, headers ...string) bool {
	_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: cascada\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n",
		path, length, strings.Join(append(headers, ""), "\r\n"))
	if err == nil {
		_, err = c.Write(blanks[:come])
	}
	return err == nil
}

// upload begins to send evidence and returns the connection, on which the test may read a reply.
func upload(t *testing.T, o harness.Client, claim string, length, come int) net.Conn {
	t.Helper()
	c := dialFrom(t, o.Instance, "127.0.0.1")
	begin(c, harness.APIPath+"/claims/"+claim+"/evidence", length, come, "Authorization: Bearer "+o.Credential)
	return c
}

func status(t *testing.T, c net.Conn) int {
	t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	harness.Must(t, err)
	r.Body.Close()
	return r.StatusCode
}

// Uploads that never end do not keep others from sending evidence: who misses the deadline of a
// claim loses the money.
func TestSlowUploadsKeepNobodyElseOut(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)
		_, claim := o.Dispute(t, false)
		_, theirs := other.Dispute(t, false)
		for range 3 { // claims that do not exist, or are another merchant's
			if got := status(t, upload(t, o, "CLM-none", 1000, 1)); got != http.StatusNotFound {
				t.Errorf("evidence for a claim that does not exist returns %d, want 404 at once", got)
			}
			if got := status(t, upload(t, o, theirs, 1000, 1)); got != http.StatusNotFound {
				t.Errorf("evidence for another merchant's claim returns %d, want 404 at once", got)
			}
		}
		for range 30 {
			upload(t, o, claim, 1000, 1)
		}
		o.Post(t, "/claims/"+claim+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
		other.Post(t, "/claims/"+theirs+"/evidence", harness.EvidenceWords).Want(t, http.StatusCreated)
	})
}

// Bodies take memory until their requests are answered. One merchant gets half of that memory at
// most.
func TestLargeBodiesLeaveRoomForOthers(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		o, other := s.NewShop(t), s.NewShop(t)
		_, claim := o.Dispute(t, false)
		_, theirs := other.Dispute(t, false)
		const large, most = 13 << 20, 20
		hanging := []net.Conn{}
		for {
			c := dialFrom(t, o.Instance, "127.0.0.1")
			if !begin(c, harness.APIPath+"/claims/"+claim+"/evidence", large+1, large, "Authorization: Bearer "+o.Credential) {
				break
			}
			// The kernel has the bytes; a busy service reads them later.
			harness.Must(t, c.SetReadDeadline(time.Now().Add(300*time.Millisecond)))
			if n, _ := c.Read(make([]byte, 1)); n > 0 { // it was refused
				break
			}
			if hanging = append(hanging, c); len(hanging) == most {
				t.Fatalf("%d bodies of %d MiB wait, and the service still accepts more", most, large>>20)
			}
		}
		if len(hanging) < 4 {
			t.Errorf("a merchant's share is full after %d of the largest pieces of evidence, want 4 or more", len(hanging))
		}
		o.Create(t, `{"amount":100,"paymentMethodId":"sbx_card"}`)
		full := `{"kind":"delivery_proof","text":"it was signed for"` + strings.Repeat(" ", large) + `}`
		harness.Eventually(t, "the client can read the refusal", func() bool {
			c := dialFrom(t, o.Instance, "127.0.0.1")
			defer c.Close()
			begin(c, harness.APIPath+"/claims/"+claim+"/evidence", large+1, large, "Authorization: Bearer "+o.Credential)
			r, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return false // the service closed the connection while the client was sending
			}
			defer r.Body.Close()
			if r.StatusCode != http.StatusTooManyRequests || r.Header.Get("Retry-After") != "1" {
				t.Fatalf("one more body gets %s and Retry-After %q, want 429 and 1", r.Status, r.Header.Get("Retry-After"))
			}
			return true
		})
		other.Post(t, "/claims/"+theirs+"/evidence", full).Want(t, http.StatusCreated)
		for _, c := range hanging {
			c.Close()
		}
		harness.Eventually(t, "the merchant can send evidence again", func() bool {
			return o.Post(t, "/claims/"+claim+"/evidence", full).Status == http.StatusCreated
		})
	})
}

// One address gets a part of the memory for notifications at most.
func TestLargeNotificationsLeaveRoomForOthers(t *testing.T) {
	harness.Alone(t, func(t *testing.T, s *harness.Instance) {
		const body, most = 1 << 20, 40
		notify := func(address string, length int) int {
			c := dialFrom(t, s, address)
			defer c.Close()
			begin(c, harness.APIPath+"/providers/sandbox-1/notifications", length, length)
			return status(t, c)
		}
		var hanging []net.Conn
		for notify("127.0.0.2", body) != http.StatusTooManyRequests {
			if len(hanging) == most {
				t.Fatalf("%d notifications of 1 MiB wait, and the service still accepts more", most)
			}
			c := dialFrom(t, s, "127.0.0.2")
			begin(c, harness.APIPath+"/providers/sandbox-1/notifications", body, body-1)
			hanging = append(hanging, c)
		}
		if got := notify("127.0.0.2", 2000); got != http.StatusUnauthorized {
			t.Errorf("a small notification from the same address returns %d, want 401: it is read and has no signature", got)
		}
		if got := notify("127.0.0.3", body); got != http.StatusUnauthorized {
			t.Errorf("a large notification from another address returns %d, want 401: it is read and has no signature", got)
		}
	})
}

// One address gets half of the connections at most.
func TestConnectionsOfOneAddressLeaveRoomForOthers(t *testing.T) {
	t.Parallel()
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) { c.Connections = 40 })
	answered := func(address string) (net.Conn, bool) {
		c, err := tryDial(t, s, address)
		if err != nil {
			return nil, false
		}
		if _, err := fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: cascada\r\n\r\n"); err != nil {
			return c, false
		}
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err == nil {
			r.Body.Close()
		}
		return c, err == nil && r.StatusCode == http.StatusOK
	}
	var open []net.Conn
	for {
		c, ok := answered("127.0.0.2")
		if !ok {
			break
		}
		if open = append(open, c); len(open) > 20 {
			t.Fatal("one address got more than half of the connections")
		}
	}
	if len(open) < 15 {
		t.Errorf("one address got %d of 40 connections, want about half", len(open))
	}
	if _, ok := answered("127.0.0.3"); !ok {
		t.Error("another address gets no connection")
	}
	for _, c := range open[:5] { // more than one, because the other address's connection counts too
		c.Close()
	}
	harness.Eventually(t, "the address gets a connection again", func() bool { _, ok := answered("127.0.0.2"); return ok })
}
