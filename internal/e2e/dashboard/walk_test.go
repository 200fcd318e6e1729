package dashboard

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/api/gate"
	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/dashboard"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/pquerna/otp/totp"
)

// routes lists all pages and actions.
func routes(t *testing.T, s *harness.Instance) []frame.Route {
	t.Helper()
	site, err := dashboard.New(dashboard.Config{App: s.App, Gate: gate.New(nil, nil, s.App.Access, slog.New(slog.DiscardHandler), s.Clock.Now), Log: slog.New(slog.DiscardHandler), Now: s.Clock.Now, URL: s.URL})
	harness.Must(t, err)
	return site.Routes()
}

var hole = regexp.MustCompile(`\{[^}]*\}`)

// open makes the request of a route. What stands in its path names nothing.
func open(t *testing.T, u harness.Staff, r frame.Route) harness.Answer {
	t.Helper()
	path := hole.ReplaceAllString(r.Path, "x")
	if r.Kind != frame.OfShop {
		path = frame.Base + strings.TrimSuffix(path, "/")
	}
	var form url.Values
	if r.Method != http.MethodGet {
		form = url.Values{}
	}
	return u.Ask(t, r.Method, path, form)
}

// Every page and action is refused to who is signed out, to a user of another merchant, and to a role without the
// right, in both environments; and no role that has the right is told that it lacks it.
func TestEveryPageAsksWhoMay(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	shop, other := s.NewShop(t), s.NewShop(t)
	foreign := other.Staff(t, people.Owner)
	foreign.Client = shop // the other merchant's owner at this shop's pages
	operator := harness.OperatorUser(t, shop)
	staff := map[operators.Role]harness.Staff{}
	for _, role := range operators.Roles() {
		staff[role] = harness.OperatorWithRole(t, shop, role)
	}
	users := map[people.Role]harness.Staff{}
	for _, role := range people.Roles() {
		users[role] = shop.Staff(t, role)
	}
	all := routes(t, s)
	for _, r := range all {
		name := r.Method + " " + r.Path
		if r.Kind == frame.Open {
			continue
		}
		if a := open(t, stranger(foreign), r); a.Status != http.StatusSeeOther || !strings.Contains(a.Header.Get("Location"), "/dashboard/sign-in") {
			t.Errorf("%s: who is signed out gets %d %s", name, a.Status, a.Header.Get("Location"))
		}
		switch r.Kind {
		case frame.OfOperator:
			if a := open(t, users[people.Owner], r); a.Status != http.StatusNotFound {
				t.Errorf("%s: an owner gets %d", name, a.Status)
			}
			for role, u := range staff {
				if a := open(t, u, r); strings.Contains(a.Body, "does not have the right") == role.May(r.Operators) {
					t.Errorf("%s: an operator with the role %s, who has the right %s: %t, gets %d %s", name, role, r.Operators, role.May(r.Operators), a.Status, a.Text())
				}
			}
		case frame.OfShop:
			for _, live := range []bool{false, true} {
				foreign.Live, operator.Live = live, live
				if a := open(t, foreign, r); a.Status != http.StatusNotFound {
					t.Errorf("%s: another merchant's owner gets %d (live: %t)", name, a.Status, live)
				}
				if a := open(t, operator, r); a.Status != http.StatusNotFound {
					t.Errorf("%s: an operator who does not visit gets %d (live: %t)", name, a.Status, live)
				}
				for role, u := range users {
					u.Live = live
					if role.May(r.Right, live) {
						continue
					}
					if a := open(t, u, r); a.Status != http.StatusForbidden {
						t.Errorf("%s: %s, who lacks the right %s, gets %d (live: %t)", name, role, r.Right, a.Status, live)
					}
				}
			}
		}
	}
}

// Whoever may not open a page learns nothing of it: where there is none the answer is the same, whatever the method, with a
// slash at the end, with a large body.
func TestNobodyLearnsWhichPagesThereAre(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	shop := s.NewShop(t)
	foreign := s.NewShop(t).Staff(t, people.Owner)
	foreign.Client = shop
	request := regexp.MustCompile(`req_\w+`)
	large := "a=" + strings.Repeat("x", 20<<10)
	answer := func(u harness.Staff, path string, r askedFor) string {
		t.Helper()
		kind := ""
		if r.body != "" {
			kind = "application/x-www-form-urlencoded"
		}
		a := u.Send(t, r.method, path+r.slash, kind, []byte(r.body))
		same := fmt.Sprint(a.Status, a.Header.Get("Location"), a.Header.Get("Allow"), a.Header.Get("Connection"), a.Body)
		return request.ReplaceAllString(strings.NewReplacer(url.QueryEscape(path), "", path, "").Replace(same), "")
	}
	none := map[string]string{} // the answers where there is no page
	for _, r := range routes(t, s) {
		if r.Kind != frame.OfOperator && r.Kind != frame.OfShop {
			continue
		}
		base := frame.Base + "/console"
		path := frame.Base + r.Path
		if r.Kind == frame.OfShop {
			base = foreign.Home()
			path = foreign.At(r.Path)
		}
		path = hole.ReplaceAllString(path, "x")
		for who, u := range map[string]harness.Staff{"a stranger": stranger(foreign), "another's owner": foreign} {
			for _, asked := range []askedFor{{"GET", "", ""}, {"GET", "/", ""}, {"POST", "", large}, {"DELETE", "", ""}} {
				of := fmt.Sprint(base, who, asked.method, asked.slash)
				if none[of] == "" {
					none[of] = answer(u, base+"/nothing/there", asked)
				}
				if got := answer(u, path, asked); got != none[of] {
					t.Errorf("%s %s%s: %s gets %.200q, and where there is no page %.200q", asked.method, path, asked.slash, who, got, none[of])
				}
			}
		}
	}
}

// askedFor is how a page is asked for.
type askedFor struct{ method, slash, body string }

// A user without the right is told which one it is; the same request with the right is not refused for it.
func TestRightsAreThoseOfTheRole(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	owner := s.NewShop(t).Staff(t, people.Owner)
	for _, r := range routes(t, s) {
		if r.Kind != frame.OfShop || r.Method != http.MethodGet {
			continue
		}
		if !slices.Contains(merchants.PeopleRights(), r.Right) {
			t.Errorf("%s %s requires %q, which is no right", r.Method, r.Path, r.Right)
		}
		if a := open(t, owner, r); a.Status == http.StatusForbidden || a.Status >= 500 {
			t.Errorf("%s %s: an owner gets %d: %s", r.Method, r.Path, a.Status, a.Text())
		}
	}
}

// An operator who visits a merchant reads its pages and changes nothing.
func TestOperatorOnlyLooks(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		shop, other := s.NewShop(t), s.NewShop(t)
		operator := harness.OperatorUser(t, shop)
		harness.Must(t, s.App.People.Visit(ctx, usersFrom, operator.Cookie, shop.Merchant.ID))
		for _, r := range routes(t, s) {
			if r.Kind != frame.OfShop {
				continue
			}
			a := open(t, operator, r)
			if r.Right == merchants.RightRead && r.Method == http.MethodGet {
				if a.Status == http.StatusForbidden || a.Status >= 500 {
					t.Errorf("%s %s: the visiting operator gets %d", r.Method, r.Path, a.Status)
				}
				continue
			}
			if r.Right != merchants.RightRead && a.Status != http.StatusForbidden {
				t.Errorf("%s %s: the visiting operator gets %d, want 403", r.Method, r.Path, a.Status)
			}
			if r.Method != http.MethodGet && r.Right == merchants.RightRead {
				t.Errorf("%s %s changes something, and requires only the right to read", r.Method, r.Path)
			}
		}
		elsewhere := operator
		elsewhere.Client = other
		if a := elsewhere.Ask(t, http.MethodGet, "/", nil); a.Status != http.StatusNotFound {
			t.Errorf("the operator sees a merchant that is not visited: %d", a.Status)
		}
		harness.Must(t, s.App.People.Visit(ctx, usersFrom, operator.Cookie, ""))
		if a := operator.Ask(t, http.MethodGet, "/", nil); a.Status != http.StatusNotFound {
			t.Errorf("after the visit the operator gets %d", a.Status)
		}
	})
}

// On https the console is shut to an operator without a second factor, and the cookie is one that only this host sets.
func TestOperatorNeedsASecondFactor(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.SQLite(t), &harness.Clock{})
	operator := harness.OperatorUser(t, s.NewShop(t))
	log := slog.New(slog.DiscardHandler)
	site, err := dashboard.New(dashboard.Config{App: s.App, Gate: gate.New(nil, nil, s.App.Access, log, s.Clock.Now), Log: log, Now: s.Clock.Now, URL: "https://pay.example.com"})
	harness.Must(t, err)
	site.HandleOperator("GET /console/anything", operators.View, func(w http.ResponseWriter, _ *http.Request, _ *frame.Visit) error {
		_, err := w.Write([]byte("in"))
		return err
	})
	ask := func() *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "https://pay.example.com/dashboard/console/anything", nil)
		r.AddCookie(&http.Cookie{Name: "__Host-cascada", Value: operator.Cookie})
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		return w
	}
	if w := ask(); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/dashboard/profile/app" {
		t.Errorf("without a second factor: %d %s", w.Code, w.Header().Get("Location"))
	} else if set := w.Result().Cookies(); len(set) != 1 || !strings.HasPrefix(set[0].Name, "__Host-") || !set[0].Secure {
		t.Errorf("on https the message for the next page is in the cookies %v", set)
	}
	secret, err := s.App.Factors.NewTOTP()
	harness.Must(t, err)
	code, err := totp.GenerateCode(secret, s.Clock.Now())
	harness.Must(t, err)
	sign, _, err := s.App.People.Known(ctx, operator.Cookie)
	harness.Must(t, err)
	_, err = s.App.Factors.AddTOTP(ctx, usersFrom, sign, users.NewApp{Secret: secret, Code: code, Password: harness.StaffPassword})
	harness.Must(t, err)
	if w := ask(); w.Body.String() != "in" {
		t.Errorf("with a second factor: %d %s", w.Code, w.Body)
	}
}
