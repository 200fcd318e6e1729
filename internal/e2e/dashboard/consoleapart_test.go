package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// With an address of its own the console is only there: the public address does not have it, for anybody. Operators
// sign in at that address and visit merchants there.
func TestConsoleHasAnAddressOfItsOwn(t *testing.T) {
	t.Parallel()
	s := harness.StartWith(t, dbtest.SQLite(t), &harness.Clock{}, func(c *daemon.Config) {
		c.Console, c.FX = "127.0.0.1:0", daemon.FX{StaleAfter: harness.Century, MaxAge: harness.Century}
	})
	o := s.NewShop(t)
	op := harness.OperatorUser(t, o)
	own := strings.TrimSuffix(s.ConsoleURL, "/dashboard/console")
	at := func(u harness.Staff, base, method, path string, form url.Values) harness.Answer {
		t.Helper()
		req, err := http.NewRequest(method, base+path, strings.NewReader(form.Encode()))
		harness.Must(t, err)
		if form != nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		return u.Request(t, req)
	}
	for _, r := range routes(t, s) {
		path := "/dashboard" + hole.ReplaceAllString(r.Path, "x")
		if !strings.HasPrefix(r.Path, "/console") {
			continue
		}
		for who, u := range map[string]harness.Staff{"an operator": op, "a stranger": stranger(op)} {
			if a := at(u, s.URL, r.Method, path, url.Values{}); a.Status != http.StatusNotFound {
				t.Errorf("%s %s: at the public address %s gets %d", r.Method, path, who, a.Status)
			}
		}
		if a := at(stranger(op), own, r.Method, path, url.Values{}); a.Status != http.StatusSeeOther || !strings.Contains(a.Header.Get("Location"), "/dashboard/sign-in") {
			t.Errorf("%s %s: at its own address a stranger gets %d", r.Method, path, a.Status)
		}
	}
	for _, path := range []string{"/dashboard/console", "/dashboard/console/", "/dashboard/console/nothing", "/dashboard//console"} {
		if a := at(op, s.URL, http.MethodGet, path, nil); a.Status == http.StatusOK {
			t.Errorf("at the public address %s gets %d", path, a.Status)
		}
	}
	a := at(stranger(op), own, http.MethodPost, "/dashboard/sign-in", url.Values{"email": {op.User.Email}, "password": {harness.StaffPassword}, "next": {"/dashboard/console/merchants"}})
	if a.Status != http.StatusSeeOther || a.Header.Get("Location") != "/dashboard/console/merchants" || !strings.HasPrefix(a.Header.Get("Set-Cookie"), "cascada=") {
		t.Fatalf("the sign-in at the console's address answers %d %v", a.Status, a.Header)
	}
	if a := at(op, own, http.MethodGet, "/", nil); a.Header.Get("Location") != "/dashboard/console" {
		t.Errorf("the first page of the console's address leads to %q", a.Header.Get("Location"))
	}
	if a := at(op, own, http.MethodGet, "/dashboard/console", nil); a.Status != http.StatusOK {
		t.Errorf("the console at its own address answers %d: %s", a.Status, a.Text())
	}
	if a := at(op, own, http.MethodPost, "/dashboard/console/merchants/"+o.Merchant.ID+"/visit", url.Values{}); a.Status != http.StatusSeeOther || at(op, own, http.MethodGet, a.Header.Get("Location"), nil).Status != http.StatusOK {
		t.Errorf("a visit at the console's address answers %d %s", a.Status, a.Header.Get("Location"))
	}
	if a := at(op, s.URL, http.MethodGet, "/dashboard", nil); a.Header.Get("Location") != "/dashboard/profile" {
		t.Errorf("at the public address an operator is led to %q", a.Header.Get("Location"))
	}
	if a := at(op, s.URL, http.MethodGet, "/dashboard/profile", nil); a.Status != http.StatusOK || strings.Contains(a.Body, "/dashboard/console") {
		t.Errorf("a page of the public address links to the console, or answers %d", a.Status)
	}
	if a := at(op, own, http.MethodGet, "/api/v1/payments", nil); a.Status != http.StatusNotFound {
		t.Errorf("the API at the console's address answers %d", a.Status)
	}
}
