package harness

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// OneMiB returns a body with spaces at its end, exactly 1 MiB long: the largest that is accepted.
func OneMiB(body string) string { return body + strings.Repeat(" ", 1<<20-len(body)) }

// AsJSON is the header line of a JSON body.
const AsJSON = "Content-Type: application/json"

// TooMany is the error of a limit, in the form of Problem.
const TooMany = "429 rate_limited rate_limit_error"

// Limited runs a test on each engine against a service that enforces its limits. See StartLimited.
func Limited(t *testing.T, configure func(*daemon.Limits), test func(t *testing.T, s *Instance), proxies ...netip.Prefix) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, database string) {
		test(t, StartLimited(t, database, configure, proxies...))
	})
}

// Few sets limits that a test uses up at once: requests per second.
func Few(l *daemon.Limits) {
	l.Tiers = map[merchants.Tier]int{merchants.Starter: 1, merchants.Standard: 2, merchants.Premium: 4, merchants.Trusted: 8}
	l.Sandbox = 3
}

// LoginBody returns the body of a login with a key pair.
func LoginBody(key, secret string) string {
	return fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, key, secret)
}

// With returns Card with more fields.
func With(fields string) string { return strings.TrimSuffix(Card, "}") + "," + fields + "}" }

// Request is an HTTP request.
type Request struct {
	Method string
	Path   string // with the query
	Body   string
	Header http.Header
	Host   string // the Host header; "" is the service's own
}

// upstream matches a provider's name or reference, which no merchant may see. It does not match a
// PIX code, which has "sandbox-" and twelve digits.
var upstream = regexp.MustCompile(`sandbox-[123](\D|$)|providerRef`)

// namesUpstream finds upstream in a reply. Most have neither word, which is quick to see.
func namesUpstream(body []byte) []byte {
	if !bytes.Contains(body, []byte("sandbox-")) && !bytes.Contains(body, []byte("providerRef")) {
		return nil
	}
	return upstream.Find(body)
}

// Send makes a request. If the path is of the API, it fails the test if the reply names a provider
// or another request, has wrong headers, or differs from the OpenAPI document.
func (s *Instance) Send(t *testing.T, q Request) Reply {
	t.Helper()
	req, err := http.NewRequest(q.Method, s.URL+q.Path, strings.NewReader(q.Body))
	Must(t, err)
	if q.Header != nil {
		req.Header = q.Header
	}
	req.Host = q.Host
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", q.Method, q.Path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	Must(t, err)
	r := Reply{request: q, Status: res.StatusCode, Header: res.Header, Body: body}
	if !strings.HasPrefix(q.Path, APIPath) {
		return r
	}
	if got := r.Header.Get("Service-Version"); got != "2026-11-21" {
		t.Errorf("Service-Version is %q, want 2026-11-21: %s", got, r)
	}
	if got := r.Header.Get("Content-Type"); got != "application/json" && !(strings.Contains(q.Path, "/payments/export") && strings.HasPrefix(got, "text/csv")) {
		t.Errorf("Content-Type is %q, want application/json: %s", got, r)
	}
	if id := r.Header.Get("X-Request-Id"); !strings.HasPrefix(id, "req_") || r.Status >= 400 && id != r.Text(t, "error.requestId") {
		t.Errorf("X-Request-Id is %q, want the prefix req_, and the same id in an error: %s", id, r)
	}
	if found := namesUpstream(body); found != nil {
		t.Errorf("the reply names a provider (%s): %s", found, r)
	}
	s.Spec.check(t, r)
	return r
}

// Raw makes a request and returns the reply and its body, without any check.
func Raw(t *testing.T, s *Instance, method, path, body string, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	Must(t, err)
	if header != nil {
		req.Header = header
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	Must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	Must(t, err)
	return res, string(text)
}
