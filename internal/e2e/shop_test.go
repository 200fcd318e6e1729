package e2e

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/app"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/onboarding"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

const APIPath = "/api/v1"

// Client is a merchant's shop and the requests it makes.
type Client struct {
	onboarding.Onboarded
	*Instance
	Credential string // sent as the Bearer value
}

// As is the shop with another credential.
func (o Client) As(credential string) Client {
	o.Credential = credential
	return o
}

// live is the shop with its production key.
func (o Client) Production() Client { return o.As(o.Live.Secret) }

// Whole returns a legacy key of the whole merchant.
func (o Client) Whole(t *testing.T, live bool) Client {
	t.Helper()
	key, err := o.App.Keys.Create(ctx, auth.NewKey{Scope: tenant.Scope{Merchant: o.Merchant.ID, Live: live}, Kind: tenant.Secret})
	Must(t, err)
	return o.As(key)
}

func (o Client) Get(t *testing.T, path string) Reply {
	t.Helper()
	return o.Call(t, http.MethodGet, path, "")
}

func (o Client) Delete(t *testing.T, path string) Reply {
	t.Helper()
	return o.Call(t, http.MethodDelete, path, "")
}

func (o Client) Post(t *testing.T, path, body string, header ...string) Reply {
	t.Helper()
	return o.Call(t, http.MethodPost, path, body, header...)
}

// Call makes a request with "Name: value" header lines.
func (o Client) Call(t *testing.T, method, path, body string, header ...string) Reply {
	t.Helper()
	r := Request{Method: method, Path: APIPath + path, Body: body, Header: http.Header{"Authorization": {"Bearer " + o.Credential}}}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	return o.Send(t, r)
}

// Create takes a payment that must be accepted and returns its id.
func (o Client) Create(t *testing.T, body string, header ...string) string {
	t.Helper()
	return o.Post(t, "/payments", body, header...).Want(t, http.StatusCreated).Text(t, "transactionId")
}

// status reads where a payment stands.
func (o Client) Status(t *testing.T, payment string) string {
	t.Helper()
	return o.Get(t, "/payments/"+payment).Want(t, http.StatusOK).Text(t, "status")
}

func (o Client) Simulate(t *testing.T, payment, action string) Reply {
	t.Helper()
	return o.Post(t, "/payments/"+payment+"/simulate", `{"action":"`+action+`"}`)
}

// Total counts the payments that a query selects.
func (o Client) Total(t *testing.T, query url.Values) string {
	t.Helper()
	return o.Get(t, "/payments?limit=1&"+query.Encode()).Want(t, http.StatusOK).Text(t, "pagination.total")
}

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

// revoke ends a key that somebody has.
func revoke(t *testing.T, a *app.App, raw string) {
	t.Helper()
	_, err := a.Keys.RevokeRaw(ctx, raw)
	Must(t, err)
}
