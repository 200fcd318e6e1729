package e2e

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// login is the tokens of one.
func (o shop) login(t *testing.T) (access shop, refresh string) {
	t.Helper()
	r := o.pair(t)
	return o.as(r.text(t, "accessToken")), r.text(t, "refreshToken")
}

const ended = "401 invalid_token authentication_error"

func TestLogoutEndsBothTokensOfALogin(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		in, refresh := o.login(t)
		other, _ := o.login(t)
		in.get(t, "/me").want(t, http.StatusOK)
		in.post(t, "/auth/logout", "").is(t, http.StatusOK, `{"ok":true}`)
		in.get(t, "/me").refused(t, ended)
		in.post(t, "/auth/logout", "").refused(t, ended)
		o.refresh(t, refresh).refused(t, ended)
		other.get(t, "/me").want(t, http.StatusOK)
		o.post(t, "/auth/logout", "").refused(t, "400 invalid_request invalid_request_error")

		third, refresh := o.login(t)
		s.logout(t, refresh).is(t, http.StatusOK, `{"ok":true}`)
		third.get(t, "/me").refused(t, ended)
		s.logout(t, refresh).refused(t, badRefresh)
		s.logout(t, "rt_made.1.up").refused(t, badRefresh)
		s.bare(t, "/auth/logout", "").refused(t, "401 missing_credentials authentication_error")
		s.bare(t, "/auth/logout", "{}").refused(t, "401 missing_credentials authentication_error")

		fourth, used := o.login(t)
		o.refresh(t, used).want(t, http.StatusOK)
		s.logout(t, used).refused(t, badRefresh) // not its owner, who has the next one
		fourth.get(t, "/me").refused(t, ended)
		o.get(t, "/me").want(t, http.StatusOK)
		var told []audit.Entry
		for _, e := range o.acts(t) {
			if e.Act == audit.LoginRevoked {
				told = append(told, e)
			}
		}
		if len(told) != 3 || told[0].By.Kind != audit.ByKey || told[0].By.IP != "127.0.0.1" || told[0].Details["reason"] != "logged out" {
			t.Errorf("the audit log tells of the logout: %+v", told)
		}
	})
}

// logout ends the login of a refresh token, which is all that it shows.
func (s *service) logout(t *testing.T, refresh string) reply {
	t.Helper()
	return s.bare(t, "/auth/logout", fmt.Sprintf(`{"refreshToken":%q}`, refresh))
}

// bare posts without credentials.
func (s *service) bare(t *testing.T, path, body string) reply {
	t.Helper()
	return s.send(t, request{method: http.MethodPost, path: apiPath + path, body: body, header: http.Header{"Content-Type": {"application/json"}}})
}

// What is revoked at one node is refused at the others within two seconds, with no question
// to the database in a request; and where a refresh token was stolen, the access token ends too.
func TestRevocationReachesEveryNode(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	one := startWith(t, database, &clock{}, func(*daemon.Config) {})
	two := startWith(t, database, &clock{}, func(*daemon.Config) {})
	o := one.shop(t)
	there := shop{Onboarded: o.Onboarded, service: two, credential: o.credential}
	gone := func(what string, in shop) {
		t.Helper()
		at := there.as(in.credential)
		eventually(t, what+" is refused at the other node", func() bool { return at.get(t, "/me").status == http.StatusUnauthorized })
		in.get(t, "/me").refused(t, ended)
	}
	a, _ := o.login(t)
	b, refresh := o.login(t)
	c, _ := o.login(t)
	d, _ := o.login(t)
	for _, in := range []shop{a, b, c, d} {
		there.as(in.credential).get(t, "/me").want(t, http.StatusOK) // and is remembered
	}
	a.post(t, "/auth/logout", "").want(t, http.StatusOK)
	gone("a login that was left", a)

	o.refresh(t, refresh).want(t, http.StatusOK)
	o.refresh(t, refresh).refused(t, ended)
	gone("a login whose refresh token was stolen", b)

	key := o.act(t, audit.LoginCreated, one.loginOf(t, o)).By.ID
	n, err := one.App.Access.RevokeLogins(ctx, one.App.Self(), "", key, "a test")
	must(t, err)
	if n != 2 { // c and d: the others have ended
		t.Errorf("%d logins of the key were ended, want 2", n)
	}
	gone("a login of a key whose logins were ended", c)
	gone("another one", d)
	e, _ := o.login(t)
	n, err = one.App.Access.RevokeLogins(ctx, one.App.Self(), o.Merchant.ID, "", "a test")
	must(t, err)
	if n != 1 {
		t.Errorf("%d logins of the merchant were ended, want 1", n)
	}
	gone("a login of a merchant whose logins were ended", e)

	// A key that is revoked goes the same way.
	revoke(t, one.App, o.Sandbox.Secret)
	eventually(t, "the key is refused at the other node", func() bool { return there.get(t, "/me").status == http.StatusUnauthorized })
}

// Clocks differ. What one node revokes is refused at the others all the same, whichever runs
// ahead; and a key that is revoked is refused whatever the clock says.
func TestRevocationDoesNotTrustTheClocks(t *testing.T) {
	t.Parallel()
	for name, apart := range map[string]time.Duration{"ahead": 3 * time.Minute, "behind": -3 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := dbtest.Postgres(t)
			quiet := func(c *daemon.Config) { c.Log = slog.New(slog.DiscardHandler) } // a lease is counted in these clocks here
			one, two := startWith(t, database, &clock{}, quiet), startWith(t, database, &clock{}, quiet)
			o := one.shop(t)
			in, _ := o.login(t)
			there := shop{Onboarded: o.Onboarded, service: two, credential: in.credential}
			there.get(t, "/me").want(t, http.StatusOK)
			one.clock.advance(apart)
			must(t, one.App.Access.RevokeLogin(ctx, one.App.Self(), one.loginOf(t, o), "a test"))
			eventually(t, "the login is refused at the other node", func() bool { return there.get(t, "/me").status == http.StatusUnauthorized })
			revoke(t, one.App, o.Sandbox.Secret)
			key := there.as(o.Sandbox.Secret)
			eventually(t, "the key is refused at the other node", func() bool { return key.get(t, "/me").status == http.StatusUnauthorized })
		})
	}
}

// loginOf is a shop's newest login.
func (s *service) loginOf(t *testing.T, o shop) (id string) {
	t.Helper()
	for _, e := range o.acts(t) {
		if e.Act == audit.LoginCreated {
			id = e.Object
		}
	}
	return id
}

// Logins leave a trace, those that are refused a bounded one.
func TestLoginsLeaveATrace(t *testing.T) {
	log := &lines{}
	c := &clock{}
	c.freeze()
	address := httptest.NewUnstartedServer(nil)
	metrics := address.Listener.Addr().String()
	must(t, address.Listener.Close())
	s := startWith(t, dbtest.SQLite(t), c, func(config *daemon.Config) { config.Log, config.Metrics = slog.New(log), metrics })
	o := s.shop(t)
	r := o.pair(t)
	count := func(act audit.Act) (n int, last audit.Entry) {
		for _, e := range o.acts(t) {
			if e.Act == act {
				n, last = n+1, e
			}
		}
		return n, last
	}
	if n, e := count(audit.LoginCreated); n != 1 || e.By.Kind != audit.ByKey || !strings.HasPrefix(e.By.ID, "key_") || e.By.IP != "127.0.0.1" ||
		e.By.Request != r.header.Get("X-Request-Id") || !strings.HasPrefix(e.Object, "lgn_") {
		t.Errorf("a login is told by %d entries, %+v", n, e)
	}
	guess := func(times int) {
		for range times {
			o.post(t, "/auth/token", loginBody(o.Sandbox.Publishable, "sk_test_guess")).refused(t, "401 invalid_api_key authentication_error")
		}
	}
	guess(20)
	if n, e := count(audit.LoginRefused); n != 1 || e.By.IP != "127.0.0.1" || e.Shop != o.Shop.ID || strings.Contains(fmt.Sprint(e), "guess") {
		t.Errorf("20 refused logins in a moment are told by %d entries, %+v", n, e)
	}
	c.advance(11 * time.Second)
	guess(1)
	if n, e := count(audit.LoginRefused); n != 2 || e.Details["more"] != "19" {
		t.Errorf("%d entries of refused logins, the last is %+v; want two, which tells of 19 more", n, e)
	}
	o.post(t, "/auth/token", loginBody("pk_test_unknown", "sk_test_x")).refused(t, "401 invalid_api_key authentication_error")
	o.refresh(t, "rt_lgn_1.1.00").refused(t, ended)
	o.as("sk_test_unknown").get(t, "/me").want(t, http.StatusUnauthorized)
	if n := log.told("a login was refused"); n != 2 {
		t.Errorf("%d lines tell of refused logins, want 2: one a second", n)
	}
	if n := log.told("credentials were refused"); n != 1 || log.told("address=127.0.0.1") == 0 {
		t.Errorf("%d lines tell of refused credentials, want one with the address", n)
	}
	page, err := http.Get("http://" + metrics + "/metrics")
	must(t, err)
	defer page.Body.Close()
	text, err := io.ReadAll(page.Body)
	must(t, err)
	for event, want := range map[string]int{"login": 1, "login_refused": 22, "refresh": 0, "refresh_refused": 1, "credential_refused": 1} {
		if line := fmt.Sprintf("cascada_auth_total{event=%q} %d\n", event, want); !strings.Contains(string(text), line) {
			t.Errorf("/metrics has no %s", line)
		}
	}
}

// Who logs out when his access token has just ended sends both, as clients do.
func TestLogoutWithAnEndedAccessToken(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		in, refresh := o.login(t)
		s.clock.advance(20 * time.Minute)
		r := in.post(t, "/auth/logout", fmt.Sprintf(`{"refreshToken":%q}`, refresh))
		if after := o.refresh(t, refresh); after.status == http.StatusOK {
			t.Errorf("logout with an ended access token and a good refresh token: %d %s; the refresh token is good yet", r.status, r.body)
		}
	})
}
