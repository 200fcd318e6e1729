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

const apiPath = "/api/v1"

// shop is a merchant's shop and the requests it makes.
type shop struct {
	onboarding.Onboarded
	*service
	credential string // sent as the Bearer value
}

// as is the shop with another credential.
func (o shop) as(credential string) shop {
	o.credential = credential
	return o
}

// live is the shop with its production key.
func (o shop) live() shop { return o.as(o.Live.Secret) }

// whole returns a legacy key of the whole merchant.
func (o shop) whole(t *testing.T, live bool) shop {
	t.Helper()
	key, err := o.App.Keys.Create(ctx, auth.NewKey{Scope: tenant.Scope{Merchant: o.Merchant.ID, Live: live}, Kind: tenant.Secret})
	must(t, err)
	return o.as(key)
}

func (o shop) get(t *testing.T, path string) reply {
	t.Helper()
	return o.call(t, http.MethodGet, path, "")
}

func (o shop) delete(t *testing.T, path string) reply {
	t.Helper()
	return o.call(t, http.MethodDelete, path, "")
}

func (o shop) post(t *testing.T, path, body string, header ...string) reply {
	t.Helper()
	return o.call(t, http.MethodPost, path, body, header...)
}

// call makes a request with "Name: value" header lines.
func (o shop) call(t *testing.T, method, path, body string, header ...string) reply {
	t.Helper()
	r := request{method: method, path: apiPath + path, body: body, header: http.Header{"Authorization": {"Bearer " + o.credential}}}
	if method == http.MethodPost {
		r.header.Set("Content-Type", "application/json")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		r.header.Set(name, value)
	}
	return o.send(t, r)
}

// create takes a payment that must be accepted and returns its id.
func (o shop) create(t *testing.T, body string, header ...string) string {
	t.Helper()
	return o.post(t, "/payments", body, header...).want(t, http.StatusCreated).text(t, "transactionId")
}

// status reads where a payment stands.
func (o shop) status(t *testing.T, payment string) string {
	t.Helper()
	return o.get(t, "/payments/"+payment).want(t, http.StatusOK).text(t, "status")
}

func (o shop) simulate(t *testing.T, payment, action string) reply {
	t.Helper()
	return o.post(t, "/payments/"+payment+"/simulate", `{"action":"`+action+`"}`)
}

// total counts the payments that a query selects.
func (o shop) total(t *testing.T, query url.Values) string {
	t.Helper()
	return o.get(t, "/payments?limit=1&"+query.Encode()).want(t, http.StatusOK).text(t, "pagination.total")
}

// request is a request as it goes over the wire.
type request struct {
	method string
	path   string // with the query
	body   string
	header http.Header
	host   string // the Host header; empty: the service's own
}

// upstream is a provider's name where no merchant may see it. A PIX code holds
// "sandbox-" and twelve digits.
var upstream = regexp.MustCompile(`sandbox-[123](\D|$)|providerRef`)

// send makes a request and proves what holds for every reply.
func (s *service) send(t *testing.T, q request) reply {
	t.Helper()
	req, err := http.NewRequest(q.method, s.URL+q.path, strings.NewReader(q.body))
	must(t, err)
	if q.header != nil {
		req.Header = q.header
	}
	req.Host = q.host
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatalf("%s %s: %v", q.method, q.path, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	must(t, err)
	r := reply{request: q, status: res.StatusCode, header: res.Header, body: body}
	if !strings.HasPrefix(q.path, apiPath) {
		return r
	}
	if got := r.header.Get("Service-Version"); got != "2026-11-21" {
		t.Errorf("Service-Version is %q: %s", got, r)
	}
	if got := r.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q: %s", got, r)
	}
	if id := r.header.Get("X-Request-Id"); !strings.HasPrefix(id, "req_") || r.status >= 400 && id != r.text(t, "error.requestId") {
		t.Errorf("X-Request-Id is %q: %s", id, r)
	}
	if found := upstream.Find(body); found != nil {
		t.Errorf("the reply tells of a provider (%s): %s", found, r)
	}
	s.spec.check(t, r)
	return r
}

// revoke ends a key that somebody has.
func revoke(t *testing.T, a *app.App, raw string) {
	t.Helper()
	_, err := a.Keys.RevokeRaw(ctx, raw)
	must(t, err)
}
