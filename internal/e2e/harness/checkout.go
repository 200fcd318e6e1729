package harness

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// Visit loads a page as a shopper's browser does and proves what holds for
// every page.
func (s *Instance) Visit(t *testing.T, path string, header ...string) (status int, page string, h http.Header) {
	t.Helper()
	return s.Browse(t, http.MethodGet, path, "", header...)
}

// sentence is a key that no language has: pages must not show one.
var sentence = regexp.MustCompile(`\b(state|text|bank|problem|declined|voucher|spei|pix)_[a-z0-9_]+\b`)

// Browse makes a request as a browser does, and proves what holds for every page.
func (s *Instance) Browse(t *testing.T, method, path, form string, header ...string) (status int, page string, h http.Header) {
	t.Helper()
	req, err := http.NewRequest(method, s.URL+path, strings.NewReader(form))
	Must(t, err)
	if form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
		if name == "Host" {
			req.Host = value
		}
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	Must(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	Must(t, err)
	for name, want := range map[string]string{
		"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s %s: %s is %q, want %q", method, path, name, got, want)
		}
	}
	policy := res.Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("%s %s: the content security policy is %q", method, path, policy)
	}
	page = html.UnescapeString(string(body))
	if found := upstream.FindString(page); found != "" {
		t.Errorf("%s %s tells of a provider (%s)", method, path, found)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") && res.StatusCode != http.StatusTemporaryRedirect {
		body, _, _ := strings.Cut(page, "<footer>")
		if found := sentence.FindString(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(body, "")); found != "" {
			t.Errorf("%s %s shows the key %s", method, path, found)
		}
	}
	return res.StatusCode, page, res.Header
}

const (
	// Ana is a customer with all that every method needs.
	Ana = `"customer":{"firstName":"Ana","lastName":"Souza","email":"ana@b.example","phone":"+55 11 98765 4321","documentId":"52998224725"}`
	// CheckoutBody is the least that opens a session.
	CheckoutBody = `{"amount":25.5,` + Ana + `}`
)

// Session opens a checkout that must be accepted and returns its token.
func (o Client) Session(t *testing.T, body string, header ...string) string {
	t.Helper()
	return o.Post(t, "/checkout/sessions", body, header...).Want(t, http.StatusCreated).Text(t, "sessionId")
}

// Shopper is who holds a session's token, and no credentials.
type Shopper struct {
	*Instance
	token string
}

// Shopper is who holds the token.
func (o Client) Shopper(token string) Shopper { return Shopper{o.Instance, token} }

// Read reads the session.
func (c Shopper) Read(t *testing.T, header ...string) Reply {
	t.Helper()
	return Client{Instance: c.Instance}.Call(t, http.MethodGet, "/checkout/sessions/"+c.token, "", header...)
}

// Choose chooses how to pay.
func (c Shopper) Choose(t *testing.T, body string, header ...string) Reply {
	t.Helper()
	return Client{Instance: c.Instance}.Post(t, "/checkout/sessions/"+c.token+"/select", body, header...)
}

// Choice is a body that chooses a method.
func Choice(method string) string { return fmt.Sprintf(`{"paymentMethodId":%q}`, method) }

// SandboxScope is the shop's sandbox.
func SandboxScope(o Client) tenant.Scope {
	return tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}
}

// HostedVoucher is a payment that the shopper makes on our pages.
const HostedVoucher = `{"amount":10,"paymentMethodId":"sbx_cash","hostedCheckout":true,"returnUrl":"https://shop.example/thanks"}`

// AtBank plays what a person does at the simulated bank.
func (s *Instance) AtBank(t *testing.T, id, action string) {
	t.Helper()
	if status, page, _ := s.Browse(t, http.MethodPost, "/sandbox/bank/"+id, url.Values{"action": {action}}.Encode()); status != http.StatusSeeOther {
		t.Fatalf("%s at the bank answers %d %.300s", action, status, page)
	}
}
