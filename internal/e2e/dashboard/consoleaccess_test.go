package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/people"
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
	// The visit goes on at the console's address alone: at the public one the sign-in of an operator is worth no more than
	// that of anybody without a role.
	viewer := o.Staff(t, people.Viewer)
	for _, path := range []string{"", "/payments", "/payments/export", "/live"} {
		if a := at(op, s.URL, http.MethodGet, viewer.Home()+path, nil); a.Status != http.StatusNotFound {
			t.Errorf("at the public address the visit of %q answers %d", path, a.Status)
		}
	}
	if a := at(op, own, http.MethodGet, viewer.Home(), nil); a.Status != http.StatusOK {
		t.Errorf("at the console's address the visit answers %d", a.Status)
	}
	if a := at(viewer, s.URL, http.MethodGet, viewer.Home(), nil); a.Status != http.StatusOK {
		t.Errorf("at the public address somebody of the team gets %d", a.Status)
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

// An operator ends another's sign-ins, unlocks and removes them. Nobody does it to themselves here, or to users who are
// no operators.
func TestOperatorRemovesAnother(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		owner, op, other := o.Staff(t, people.Owner), harness.OperatorUser(t, o), harness.OperatorUser(t, o)
		path := "/dashboard/console/operators"
		page := op.Page(t, path)
		if strings.Count(page, `name="user" value="`+other.User.ID+`"`) != 4 || strings.Contains(page, `name="user" value="`+op.User.ID+`"`) {
			t.Error("the page does not offer the four acts on the other operator alone")
		}
		for _, act := range []string{"remove", "sign-out", "unlock"} {
			if a := op.Ask(t, http.MethodPost, path+"/"+act, url.Values{"user": {op.User.ID}}); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "This is you") {
				t.Errorf("%s of oneself gets %d: %s", act, a.Status, a.Text())
			}
			for _, id := range []string{owner.User.ID, "usr_x", ""} {
				if a := op.Ask(t, http.MethodPost, path+"/"+act, url.Values{"user": {id}}); a.Status != http.StatusNotFound {
					t.Errorf("%s of %q, who is no operator, gets %d", act, id, a.Status)
				}
			}
		}
		withApp(t, other)
		op.Do(t, path+"/unlock", "user", other.User.ID)
		if u, err := s.App.Store.Users().Get(ctx, other.User.ID); err != nil || u.HasFactor() {
			t.Errorf("after unlock the user has a second factor (%v)", err)
		}
		op.Do(t, path+"/sign-out", "user", other.User.ID)
		if a := other.Ask(t, http.MethodGet, path, nil); a.Status != http.StatusSeeOther || !strings.Contains(a.Header.Get("Location"), "sign-in") {
			t.Errorf("the operator who was signed out gets %d", a.Status)
		}
		other.Cookie, _ = signIn(t, other, harness.StaffPassword)
		other.Page(t, path)
		op.Do(t, path+"/remove", "user", other.User.ID)
		if a := other.Ask(t, http.MethodGet, path, nil); a.Status != http.StatusSeeOther {
			t.Errorf("the removed operator gets %d", a.Status)
		}
		for _, act := range []audit.Act{audit.UserRemoved, audit.UserFactorRemoved} {
			op.Did(t, act, other.User.ID)
		}
		if page := op.Page(t, path); strings.Contains(page, other.User.Email) {
			t.Error("the page still lists the removed operator")
		}
		owner.Page(t, owner.Home())
	})
}
