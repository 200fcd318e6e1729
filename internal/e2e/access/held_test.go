package access

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// late is how long the bodies of these tests are held back: longer than the moment after which the service asks again.
const late = 150 * time.Millisecond

// held is a request whose headers and first bytes are sent.
type held struct {
	net.Conn
	rest string
}

// hold sends a request up to the middle of its body.
func hold(t *testing.T, address, path, body string, headers ...string) held {
	t.Helper()
	u, err := url.Parse(address)
	harness.Must(t, err)
	c, err := net.Dial("tcp", u.Host)
	harness.Must(t, err)
	t.Cleanup(func() { c.Close() })
	harness.Must(t, c.SetDeadline(time.Now().Add(harness.Patience)))
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nSec-Fetch-Site: same-origin\r\nContent-Length: %d\r\n%s\r\n\r\n%s",
		path, u.Host, len(body), strings.Join(headers, "\r\n"), body[:len(body)/2])
	harness.Must(t, err)
	return held{c, body[len(body)/2:]}
}

// end sends the rest of the body and returns the answer.
func (h held) end(t *testing.T) (status int, header http.Header, body string) {
	t.Helper()
	_, err := io.WriteString(h, h.rest)
	harness.Must(t, err)
	r, err := http.ReadResponse(bufio.NewReader(h), nil)
	harness.Must(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	harness.Must(t, err)
	return r.StatusCode, r.Header, string(text)
}

// Whoever is asked who he is, is asked once the body has arrived: rights that end while it is held back do nothing.
func TestHeldBodyDoesNotOutliveItsSender(t *testing.T) {
	harness.Operated(t, func(t *testing.T, op harness.Operator) {
		s := op.Instance
		o := s.NewShop(t)
		key, err := s.App.Keys.Create(ctx, s.App.Self(), auth.NewKey{Scope: tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}, Kind: tenant.Secret})
		harness.Must(t, err)
		leaver, console := o.Staff(t, people.Developer), harness.OperatorUser(t, o)
		before, _, err := s.App.Keys.List(ctx, o.Merchant.ID)
		harness.Must(t, err)

		part := func(name, value string) string {
			return "--XX\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n"
		}
		small := part("kind", "restricted") + part("rights", "read") + "--XX--\r\n"
		large := part("note", strings.Repeat("x", 40<<10)) + small
		parts := "Content-Type: multipart/form-data; boundary=XX"
		pages := map[string]held{
			"a small form":       hold(t, s.URL, leaver.At("/keys"), small, parts, "Cookie: cascada="+leaver.Cookie),
			"a large form":       hold(t, s.URL, leaver.At("/keys"), large, parts, "Cookie: cascada="+leaver.Cookie),
			"an operator's form": hold(t, s.URL, "/dashboard/console/merchants", large, parts, "Cookie: cascada="+console.Cookie),
		}
		calls := map[string]held{
			"a payment":   hold(t, s.URL, harness.APIPath+"/payments", harness.Card, "Content-Type: application/json", "Authorization: Bearer "+key),
			"an endpoint": hold(t, s.URL, harness.APIPath+"/webhooks", `{"url":"https://shop.example/hook","events":["*"]}`, "Content-Type: application/json", "Authorization: Bearer "+key),
			"an operator's account": hold(t, op.AdminURL, "/admin/v1/accounts", `{"id":"late-1","provider":"plain"}`, "Content-Type: application/json",
				"Authorization: Bearer "+op.Token),
		}
		time.Sleep(late) // the service reads, and waits for the rest
		harness.Must(t, s.App.Team.Remove(ctx, s.App.Self(), leaver.User.Email))
		harness.Must(t, s.App.Team.Remove(ctx, s.App.Self(), console.User.Email))
		_, err = s.App.Keys.Revoke(ctx, s.App.Self(), "sk_test_…"+key[len(key)-4:])
		harness.Must(t, err)
		harness.Must(t, s.App.Operators.Remove(ctx, s.App.Self(), op.Name))

		for what, h := range pages {
			if status, header, body := h.end(t); status != http.StatusSeeOther || !strings.HasPrefix(header.Get("Location"), "/dashboard/sign-in") {
				t.Errorf("%s of a removed user gets %d to %q, want the sign-in: %s", what, status, header.Get("Location"), body)
			}
		}
		for what, h := range calls {
			if status, _, body := h.end(t); status != http.StatusUnauthorized {
				t.Errorf("%s with an ended credential gets %d, want 401: %s", what, status, body)
			}
		}
		after, _, err := s.App.Keys.List(ctx, o.Merchant.ID)
		harness.Must(t, err)
		if len(after) != len(before) {
			t.Errorf("there are %d keys, want %d as before", len(after), len(before))
		}
		if paid := harness.RowIDs(t, o.Get(t, "/payments")); len(paid) != 0 {
			t.Errorf("a revoked key made the payments %v", paid)
		}
	})
}

// Forms of strangers are small, so that whoever sends none to its end holds little, and others come in.
// Behind a proxy, all connections come from one address.
func TestUnendedFormsHoldLittle(t *testing.T) {
	t.Parallel()
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) { c.Proxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/32")} })
	for what, who := range map[string][2]string{"direct": {"127.0.0.3"}, "behind a proxy": {"127.0.0.2", "X-Forwarded-For: 198.51.100.7\r\n"}} {
		t.Run(what, func(t *testing.T) { holdForms(t, s, who[0], who[1]) })
	}
}

// holdForms leaves forms unended from an address, in headers that a proxy adds.
func holdForms(t *testing.T, s *harness.Instance, from, forwarded string) {
	o := s.NewShop(t)
	u := o.Staff(t, people.Owner)
	const form = "Content-Type: application/x-www-form-urlencoded\r\n"
	begin := func(path string, length, come int) net.Conn {
		c := dialFrom(t, s, from)
		_, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: cascada\r\n%s%sContent-Length: %d\r\n\r\n", path, form, forwarded, length)
		harness.Must(t, err)
		_, _ = c.Write(blanks[:come]) // it may have been refused
		return c
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	held, most := heap(), uint64(24<<20)
	for i := range 400 {
		begin("/dashboard/sign-in", 1<<20, 30<<10)
		if i%2 == 0 {
			begin("/dashboard/sign-in", 15<<10, 15<<10-10)
		}
	}
	harness.Eventually(t, "the service has read what came", func() bool {
		now := heap()
		return now < held+most
	})
	for path, want := range map[string]int{"/dashboard/sign-in": http.StatusBadRequest, u.At("/keys"): http.StatusSeeOther, "/dashboard/profile": http.StatusBadRequest, "/checkout/none": http.StatusRequestEntityTooLarge} {
		c := begin(path, 64<<10, 20<<10)
		if got := status(t, c); got != want {
			t.Errorf("a large form of a stranger for %s gets %d, want %d before all of it has come", path, got, want)
		}
	}
	o.Create(t, harness.Card)
	u.Page(t, "/payments")
	if a := u.Ask(t, http.MethodPost, "/dashboard/sign-in", url.Values{"email": {u.User.Email}, "password": {harness.StaffPassword}}); a.Status != http.StatusSeeOther {
		t.Errorf("a sign-in gets %d: %s", a.Status, a.Text())
	}
	c := dialFrom(t, s, "127.0.0.2")
	const wrong = "email=ana%40shop.example&password=wrong"
	_, err := fmt.Fprintf(c, "POST /dashboard/sign-in HTTP/1.1\r\nHost: cascada\r\n%sX-Forwarded-For: 198.51.100.8\r\nContent-Length: %d\r\n\r\n%s", form, len(wrong), wrong)
	harness.Must(t, err)
	if got := status(t, c); got != http.StatusUnauthorized {
		t.Errorf("a wrong password from another address behind the proxy gets %d, want 401", got)
	}
}
