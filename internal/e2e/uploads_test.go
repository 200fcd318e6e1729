package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// upload begins to send evidence and stops before the body: the reply, where one comes at
// once, is read by the test.
func (o shop) upload(t *testing.T, claim string) net.Conn {
	t.Helper()
	host := strings.TrimPrefix(o.URL, "http://")
	c, err := net.Dial("tcp", host)
	must(t, err)
	t.Cleanup(func() { c.Close() })
	must(t, c.SetDeadline(time.Now().Add(patience)))
	_, err = fmt.Fprintf(c, "POST %s/claims/%s/evidence HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
		base, claim, host, o.credential)
	must(t, err)
	return c
}

func status(t *testing.T, c net.Conn) int {
	t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	must(t, err)
	r.Body.Close()
	return r.StatusCode
}

// A deadline that is missed costs the money: who sends nothing to the end keeps nobody else
// from sending evidence.
func TestSlowUploadsKeepNobodyElseOut(t *testing.T) {
	alone(t, func(t *testing.T, s *service) {
		o, other := s.shop(t), s.shop(t)
		_, claim := o.dispute(t, false)
		_, theirs := other.dispute(t, false)
		for range 3 { // against claims that there are not, or not here
			if got := status(t, o.upload(t, "CLM-none")); got != http.StatusNotFound {
				t.Errorf("evidence against nothing: %d, want 404 at once", got)
			}
			if got := status(t, o.upload(t, theirs)); got != http.StatusNotFound {
				t.Errorf("evidence against another's claim: %d, want 404 at once", got)
			}
		}
		const share = 4
		var hanging []net.Conn
		for range share {
			hanging = append(hanging, o.upload(t, claim))
		}
		eventually(t, "the merchant's share is used up", func() bool {
			r := o.post(t, "/claims/"+claim+"/evidence", `{"kind":""}`)
			return r.status == http.StatusTooManyRequests && r.header.Get("Retry-After") == "1"
		})
		other.post(t, "/claims/"+theirs+"/evidence", words).want(t, http.StatusCreated)
		hanging[0].Close()
		eventually(t, "a place is free again", func() bool {
			return o.post(t, "/claims/"+claim+"/evidence", words).status == http.StatusCreated
		})
	})
}
