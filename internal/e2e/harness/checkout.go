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

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/view"
)

// Visit loads a page as a shopper's browser does. See Browse.
func (s *Instance) Visit(t *testing.T, path string, header ...string) (status int, page string, h http.Header) {
	t.Helper()
	return s.Browse(t, http.MethodGet, path, "", header...)
}

// sentence matches the key of a text. A page shows a key if no language has its text.
var sentence = regexp.MustCompile(`\b(state|text|bank|problem|declined|voucher|spei|pix)_[a-z0-9_]+\b`)

// PageOf is a payment's page as its shopper opens it: with the key of the page.
func (s *Instance) PageOf(payment string) string { return s.Keyed(s.URL+"/pay/"+payment, payment) }

// Keyed is an address of a payment's page with its key.
func (s *Instance) Keyed(address, payment string) string {
	return view.Keyed(address, base.PageKey(s.Vault, payment))
}

// ofPayment matches the address of a payment's page.
var ofPayment = regexp.MustCompile(`^/(?:pay|c|sandbox/bank)/(TXN-[0-9A-Z]{26})`)

// shoppers is a path as a shopper has it: with the key of the payment's page.
func (s *Instance) shoppers(path string) string {
	found := ofPayment.FindStringSubmatch(path)
	if found == nil || strings.Contains(path, view.PageKeyParam+"=") {
		return path
	}
	return s.Keyed(path, found[1])
}

// keyParam matches the key of a page in an address. Tests read pages and addresses without it.
var keyParam = regexp.MustCompile(`\bkey=[A-Za-z0-9_-]{22}(&(?:amp;)?|\b)`)

// Keyless takes the keys of pages out of an address or a page.
func Keyless(text string) string {
	text = keyParam.ReplaceAllString(text, "")
	return regexp.MustCompile(`[?&](["' ]|$)`).ReplaceAllString(text, "$1")
}

// Browse makes a request as a shopper's browser does, which has the keys of pages, with "Name: value" header lines, and follows no
// redirect. form is URL-encoded; "" sends none. The page is returned with HTML entities decoded.
//
// It fails the test if a security header is wrong, or if the page names a provider or shows the
// key of a text.
func (s *Instance) Browse(t *testing.T, method, path, form string, header ...string) (status int, page string, h http.Header) {
	t.Helper()
	req, err := http.NewRequest(method, s.URL+s.shoppers(path), strings.NewReader(form))
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
	page = Keyless(html.UnescapeString(string(body)))
	if to := res.Header.Get("Location"); to != "" {
		res.Header.Set("Location", Keyless(to))
	}
	if found := upstream.FindString(page); found != "" {
		t.Errorf("%s %s names a provider (%s)", method, path, found)
	}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") && res.StatusCode != http.StatusTemporaryRedirect {
		body, _, _ := strings.Cut(page, "<footer>")
		if found := sentence.FindString(regexp.MustCompile(`"[^"]*"`).ReplaceAllString(body, "")); found != "" {
			t.Errorf("%s %s shows the key %s instead of a text", method, path, found)
		}
	}
	return res.StatusCode, page, res.Header
}

const (
	// Ana is the field of a customer that has what every method needs.
	Ana = `"customer":{"firstName":"Ana","lastName":"Souza","email":"ana@b.example","phone":"+55 11 98765 4321","documentId":"52998224725"}`
	// CheckoutBody is the shortest body that opens a session.
	CheckoutBody = `{"amount":25.5,` + Ana + `}`
)

// Session opens a checkout session and returns its token. It ends the test unless the status is
// 201.
func (o Client) Session(t *testing.T, body string, header ...string) string {
	t.Helper()
	return o.Post(t, "/checkout/sessions", body, header...).Want(t, http.StatusCreated).Text(t, "sessionId")
}

// Shopper holds a session's token and has no credentials.
type Shopper struct {
	*Instance
	token string
}

// Shopper returns the holder of a session's token.
func (o Client) Shopper(token string) Shopper { return Shopper{o.Instance, token} }

// Read reads the session.
func (c Shopper) Read(t *testing.T, header ...string) Reply {
	t.Helper()
	return Client{Instance: c.Instance}.Call(t, http.MethodGet, "/checkout/sessions/"+c.token, "", header...)
}

// Choose selects a method. body is as Choice makes it.
func (c Shopper) Choose(t *testing.T, body string, header ...string) Reply {
	t.Helper()
	return Client{Instance: c.Instance}.Post(t, "/checkout/sessions/"+c.token+"/select", body, header...)
}

// Choice returns the body that selects a method by its id.
func Choice(method string) string { return fmt.Sprintf(`{"paymentMethodId":%q}`, method) }

// SandboxScope is the shop's sandbox.
func SandboxScope(o Client) merchants.Scope {
	return merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}
}

// HostedVoucher is the body of a cash payment that the shopper makes on our pages.
const HostedVoucher = `{"amount":10,"paymentMethodId":"sbx_cash","hostedCheckout":true,"returnUrl":"https://shop.example/thanks"}`

// AtBank presses a button on the simulated bank's page of a payment. action is the button's name,
// such as "decline".
func (s *Instance) AtBank(t *testing.T, id, action string) {
	t.Helper()
	if status, page, _ := s.Browse(t, http.MethodPost, "/sandbox/bank/"+id, url.Values{"action": {action}}.Encode()); status != http.StatusSeeOther {
		t.Fatalf("the simulated bank answers %q with %d: %.300s", action, status, page)
	}
}
