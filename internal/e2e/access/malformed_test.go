package access

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// Whoever can reach the service can send broken HTTP. None of it is a fault of ours: an answer of 5xx wakes people.
func TestBrokenRequestsAreNoFaults(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) { breakRequests(t, op.Instance, op) })
}

func breakRequests(t *testing.T, s *harness.Instance, op harness.Operator) {
	o := s.NewShop(t)
	payment := o.Create(t, `{"amount":25.5,"paymentMethodId":"sbx_pse","hostedCheckout":true}`)
	token := o.Session(t, `{"amount":25.5,"currency":"USD","customer":{"firstName":"Ana","lastName":"Lima","email":"ana@mail.example","phone":"+5511987654321"}}`)
	const form, text = "application/x-www-form-urlencoded", "application/json"
	edges := []struct{ base, method, path, kind, credential string }{
		{s.URL, "POST", "/api/v1/payments", text, o.Sandbox.Secret},
		{s.URL, "POST", "/api/v1/payments", text, ""},
		{s.URL, "PATCH", "/api/v1/webhooks/wh_1", text, o.Sandbox.Secret},
		{s.URL, "POST", "/api/v1/auth/token", text, ""},
		{s.URL, "POST", "/api/v1/checkout/sessions/" + token + "/select", text, ""},
		{s.URL, "POST", "/api/v1/providers/acme/notifications", text, ""},
		{s.URL, "POST", "/inbox/shop", text, ""},
		{s.URL, "POST", "/checkout/" + token, form, ""},
		{s.URL, "POST", "/sandbox/bank/" + payment, form, ""},
		{s.URL, "POST", "/pay/" + payment + "/change", form, ""},
		{s.URL, "POST", "/pay/" + payment + "/again", form, ""},
		{s.URL, "POST", "/dashboard/sign-in", form, ""},
		{s.URL, "POST", "/dashboard/forgot", form, ""},
		{s.URL, "POST", "/dashboard/sign-in", "multipart/form-data; boundary=x", ""},
		{s.URL, "POST", "/dashboard/sign-in", "multipart/form-data", ""},
		{s.URL, "POST", "/kyc/kyc_1", form, ""},
		{s.URL, "POST", "/demo", form, ""},
		{s.URL, "POST", "/nowhere", text, ""},
		{op.AdminURL, "POST", "/admin/v1/accounts", text, op.Token},
		{op.AdminURL, "POST", "/admin/v1/accounts", text, ""},
	}
	bodies := []struct{ name, head, body string }{
		{"a chunk's size that is no number", "Transfer-Encoding: chunked", "zz\r\n"},
		{"a chunk that is too long for its size", "Transfer-Encoding: chunked", "2\r\n{}}}\r\n0\r\n\r\n"},
		{"a chunk's size beyond all numbers", "Transfer-Encoding: chunked", "fffffffffffffffff\r\n{}\r\n0\r\n\r\n"},
		{"a negative chunk", "Transfer-Encoding: chunked", "-1\r\n{}\r\n0\r\n\r\n"},
		{"chunks without an end", "Transfer-Encoding: chunked", "2\r\n{}\r\n"},
		{"a chunk's size without a line", "Transfer-Encoding: chunked", strings.Repeat("0", 9000)},
		{"a broken trailer", "Transfer-Encoding: chunked", "2\r\n{}\r\n0\r\nbad trailer\r\n\r\n"},
		{"a body that ends early", "Content-Length: 500", "{"},
		{"a length that is no number", "Content-Length: many", "{}"},
		{"two lengths", "Content-Length: 2\r\nContent-Length: 3", "{}"},
		{"a length and chunks", "Content-Length: 2\r\nTransfer-Encoding: chunked", "zz\r\n"},
		{"a header without a colon", "Content-Length: 2\r\nbroken", "{}"},
	}
	for _, e := range edges {
		address, err := url.Parse(e.base)
		harness.Must(t, err)
		for _, b := range bodies {
			head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\n", e.method, e.path, address.Host, e.kind)
			if e.credential != "" {
				head += "Authorization: Bearer " + e.credential + "\r\n"
			}
			status := sendRaw(t, address.Host, head+b.head+"\r\n\r\n"+b.body)
			if status >= 500 {
				t.Errorf("%s %s with %s is answered %d, want no fault", e.method, e.path, b.name, status)
			}
			if b.name == "a chunk's size that is no number" && e.credential != "" && status != http.StatusBadRequest {
				t.Errorf("%s %s with %s is answered %d, want 400", e.method, e.path, b.name, status)
			}
		}
	}
}

// sendRaw sends bytes and returns the status of the answer; 0 if the connection is closed without one.
func sendRaw(t *testing.T, host, text string) int {
	t.Helper()
	c, err := net.Dial("tcp", host)
	harness.Must(t, err)
	defer c.Close()
	harness.Must(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(c, text)
	harness.Must(t, err)
	_ = c.(*net.TCPConn).CloseWrite() // the service may have closed it
	reply, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0
	}
	_ = reply.Body.Close()
	return reply.StatusCode
}
