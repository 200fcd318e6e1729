package harness

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// OneMiB is a body filled up with spaces to exactly the limit.
func OneMiB(body string) string { return body + strings.Repeat(" ", 1<<20-len(body)) }

// AsJSON is the header of a body in JSON.
const AsJSON = "Content-Type: application/json"

// TooMany is how a limit refuses, as Problem tells it.
const TooMany = "429 rate_limited rate_limit_error"

// Limited runs a test against a service that keeps its limits, with a clock that
// stands still.
func Limited(t *testing.T, configure func(*daemon.Limits), test func(t *testing.T, s *Instance), proxies ...netip.Prefix) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, database string) {
		test(t, StartLimited(t, database, configure, proxies...))
	})
}

// Few are limits small enough to be used up in a moment.
func Few(l *daemon.Limits) {
	l.Tiers = map[tenant.Tier]int{tenant.Starter: 1, tenant.Standard: 2, tenant.Premium: 4, tenant.Trusted: 8}
	l.Sandbox = 3
}

// LoginBody asks for tokens with a pair of keys.
func LoginBody(key, secret string) string {
	return fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, key, secret)
}

// With is the least that pays, with more fields.
func With(fields string) string { return strings.TrimSuffix(Card, "}") + "," + fields + "}" }

// Request is a request as it goes over the wire.
type Request struct {
	Method string
	Path   string // with the query
	Body   string
	Header http.Header
	Host   string // the Host header; empty: the service's own
}

// upstream is a provider's name where no merchant may see it. A PIX code holds
// "sandbox-" and twelve digits.
var upstream = regexp.MustCompile(`sandbox-[123](\D|$)|providerRef`)

// Send makes a request and proves what holds for every reply.
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
		t.Errorf("Service-Version is %q: %s", got, r)
	}
	if got := r.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q: %s", got, r)
	}
	if id := r.Header.Get("X-Request-Id"); !strings.HasPrefix(id, "req_") || r.Status >= 400 && id != r.Text(t, "error.requestId") {
		t.Errorf("X-Request-Id is %q: %s", id, r)
	}
	if found := upstream.Find(body); found != nil {
		t.Errorf("the reply tells of a provider (%s): %s", found, r)
	}
	s.Spec.check(t, r)
	return r
}

// Raw makes a request and returns its reply as it is, with the body.
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
