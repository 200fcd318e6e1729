package access

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
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/audit"
)

// login logs in. access is the shop with the access token.
func login(t *testing.T, o harness.Client) (access harness.Client, refresh string) {
	t.Helper()
	r := harness.Pair(t, o)
	return o.As(r.Text(t, "accessToken")), r.Text(t, "refreshToken")
}

const ended = "401 invalid_token authentication_error"

func TestLogoutEndsBothTokensOfALogin(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		in, refresh := login(t, o)
		other, _ := login(t, o)
		in.Get(t, "/me").Want(t, http.StatusOK)
		in.Post(t, "/auth/logout", "").Is(t, http.StatusOK, `{"ok":true}`)
		in.Get(t, "/me").Refused(t, ended)
		in.Post(t, "/auth/logout", "").Refused(t, ended)
		refreshLogin(t, o, refresh).Refused(t, ended)
		other.Get(t, "/me").Want(t, http.StatusOK)
		o.Post(t, "/auth/logout", "").Refused(t, "400 invalid_request invalid_request_error")

		third, refresh := login(t, o)
		logout(t, s, refresh).Is(t, http.StatusOK, `{"ok":true}`)
		third.Get(t, "/me").Refused(t, ended)
		logout(t, s, refresh).Refused(t, badRefresh)
		logout(t, s, "rt_made.1.up").Refused(t, badRefresh)
		bare(t, s, "/auth/logout", "").Refused(t, "401 missing_credentials authentication_error")
		bare(t, s, "/auth/logout", "{}").Refused(t, "401 missing_credentials authentication_error")

		fourth, used := login(t, o)
		refreshLogin(t, o, used).Want(t, http.StatusOK)
		logout(t, s, used).Refused(t, badRefresh) // a used token: its owner has the next one, so this may be a thief
		fourth.Get(t, "/me").Refused(t, ended)
		o.Get(t, "/me").Want(t, http.StatusOK)
		var told []audit.Entry
		for _, e := range harness.AuditActs(t, o) {
			if e.Act == audit.LoginRevoked {
				told = append(told, e)
			}
		}
		if len(told) != 3 || told[0].By.Kind != audit.ByKey || told[0].By.IP != "127.0.0.1" || told[0].Details["reason"] != "logged out" {
			t.Errorf("the entries of ended logins are %+v, want three; the first is a logout by a key", told)
		}
	})
}

// logout ends a login with nothing but its refresh token.
func logout(t *testing.T, s *harness.Instance, refresh string) harness.Reply {
	t.Helper()
	return bare(t, s, "/auth/logout", fmt.Sprintf(`{"refreshToken":%q}`, refresh))
}

// bare makes a POST request without credentials.
func bare(t *testing.T, s *harness.Instance, path, body string) harness.Reply {
	t.Helper()
	return s.Send(t, harness.Request{Method: http.MethodPost, Path: harness.APIPath + path, Body: body, Header: http.Header{"Content-Type": {"application/json"}}})
}

// When a node ends a login or revokes a key, the other nodes refuse it soon, although they remember
// it as good. If a refresh token is used twice, the access token ends too.
func TestRevocationReachesEveryNode(t *testing.T) {
	t.Parallel()
	database := dbtest.Postgres(t)
	one := harness.StartWith(t, database, &harness.Clock{}, func(*daemon.Config) {})
	two := harness.StartWith(t, database, &harness.Clock{}, func(*daemon.Config) {})
	o := one.NewShop(t)
	there := harness.Client{Onboarded: o.Onboarded, Instance: two, Credential: o.Credential}
	gone := func(what string, in harness.Client) {
		t.Helper()
		at := there.As(in.Credential)
		harness.Eventually(t, what+" is refused at the other node", func() bool { return at.Get(t, "/me").Status == http.StatusUnauthorized })
		in.Get(t, "/me").Refused(t, ended)
	}
	a, _ := login(t, o)
	b, refresh := login(t, o)
	c, _ := login(t, o)
	d, _ := login(t, o)
	for _, in := range []harness.Client{a, b, c, d} {
		there.As(in.Credential).Get(t, "/me").Want(t, http.StatusOK) // from now on this node remembers the login
	}
	a.Post(t, "/auth/logout", "").Want(t, http.StatusOK)
	gone("a login that was logged out", a)

	refreshLogin(t, o, refresh).Want(t, http.StatusOK)
	refreshLogin(t, o, refresh).Refused(t, ended)
	gone("a login whose refresh token was stolen", b)

	key := harness.AuditEntry(t, o, audit.LoginCreated, loginOf(t, one, o)).By.ID
	n, err := one.App.Access.RevokeLogins(ctx, one.App.Self(), "", key, "a test")
	harness.Must(t, err)
	if n != 2 { // c and d; the others had ended before
		t.Errorf("%d logins of the key were ended, want 2", n)
	}
	gone("a login of a key whose logins were ended", c)
	gone("another login of that key", d)
	e, _ := login(t, o)
	n, err = one.App.Access.RevokeLogins(ctx, one.App.Self(), o.Merchant.ID, "", "a test")
	harness.Must(t, err)
	if n != 1 {
		t.Errorf("%d logins of the merchant were ended, want 1", n)
	}
	gone("a login of a merchant whose logins were ended", e)

	// The same is true of a revoked key.
	revoke(t, one.App, o.Sandbox.Secret)
	harness.Eventually(t, "the key is refused at the other node", func() bool { return there.Get(t, "/me").Status == http.StatusUnauthorized })
}

// A revocation reaches the other nodes even if the nodes' clocks differ.
func TestRevocationDoesNotTrustTheClocks(t *testing.T) {
	t.Parallel()
	for name, apart := range map[string]time.Duration{"ahead": 3 * time.Minute, "behind": -3 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := dbtest.Postgres(t)
			quiet := func(c *daemon.Config) { c.Log = slog.New(slog.DiscardHandler) } // leases use these clocks too, so their errors are expected
			one, two := harness.StartWith(t, database, &harness.Clock{}, quiet), harness.StartWith(t, database, &harness.Clock{}, quiet)
			o := one.NewShop(t)
			in, _ := login(t, o)
			there := harness.Client{Onboarded: o.Onboarded, Instance: two, Credential: in.Credential}
			there.Get(t, "/me").Want(t, http.StatusOK)
			one.Clock.Advance(apart)
			harness.Must(t, one.App.Access.RevokeLogin(ctx, one.App.Self(), loginOf(t, one, o), "a test"))
			harness.Eventually(t, "the login is refused at the other node", func() bool { return there.Get(t, "/me").Status == http.StatusUnauthorized })
			revoke(t, one.App, o.Sandbox.Secret)
			key := there.As(o.Sandbox.Secret)
			harness.Eventually(t, "the key is refused at the other node", func() bool { return key.Get(t, "/me").Status == http.StatusUnauthorized })
		})
	}
}

// loginOf returns the id of a merchant's newest login.
func loginOf(t *testing.T, s *harness.Instance, o harness.Client) (id string) {
	t.Helper()
	for _, e := range harness.AuditActs(t, o) {
		if e.Act == audit.LoginCreated {
			id = e.Object
		}
	}
	return id
}

// Logins are in the audit log, the log and the metrics. Refused logins are bounded in the logs.
func TestLoginsLeaveATrace(t *testing.T) {
	log := &lines{}
	c := &harness.Clock{}
	c.Freeze()
	address := httptest.NewUnstartedServer(nil)
	metrics := address.Listener.Addr().String()
	harness.Must(t, address.Listener.Close())
	s := harness.StartWith(t, dbtest.SQLite(t), c, func(config *daemon.Config) { config.Log, config.Metrics = slog.New(log), metrics })
	o := s.NewShop(t)
	r := harness.Pair(t, o)
	count := func(act audit.Act) (n int, last audit.Entry) {
		for _, e := range harness.AuditActs(t, o) {
			if e.Act == act {
				n, last = n+1, e
			}
		}
		return n, last
	}
	if n, e := count(audit.LoginCreated); n != 1 || e.By.Kind != audit.ByKey || !strings.HasPrefix(e.By.ID, "key_") || e.By.IP != "127.0.0.1" ||
		e.By.Request != r.Header.Get("X-Request-Id") || !strings.HasPrefix(e.Object, "lgn_") {
		t.Errorf("a login has %d entries, the last is %+v; want one with its key, address and request", n, e)
	}
	guess := func(times int) {
		for range times {
			o.Post(t, "/auth/token", harness.LoginBody(o.Sandbox.Publishable, "sk_test_guess")).Refused(t, "401 invalid_api_key authentication_error")
		}
	}
	guess(20)
	if n, e := count(audit.LoginRefused); n != 1 || e.By.IP != "127.0.0.1" || e.Shop != o.Shop.ID || strings.Contains(fmt.Sprint(e), "guess") {
		t.Errorf("20 refused logins at once have %d entries, the last is %+v; want one without the secret", n, e)
	}
	c.Advance(11 * time.Second)
	guess(1)
	if n, e := count(audit.LoginRefused); n != 2 || e.Details["more"] != "19" {
		t.Errorf("%d entries of refused logins, the last is %+v; want two, and the last counts 19 more", n, e)
	}
	o.Post(t, "/auth/token", harness.LoginBody("pk_test_unknown", "sk_test_x")).Refused(t, "401 invalid_api_key authentication_error")
	refreshLogin(t, o, "rt_lgn_1.1.00").Refused(t, ended)
	o.As("sk_test_unknown").Get(t, "/me").Want(t, http.StatusUnauthorized)
	if n := log.told("a login was refused"); n != 2 {
		t.Errorf("%d lines about refused logins, want 2: one a second", n)
	}
	if n := log.told("credentials were refused"); n != 1 || log.told("address=127.0.0.1") == 0 {
		t.Errorf("%d lines about refused credentials, want one with the address", n)
	}
	page, err := http.Get("http://" + metrics + "/metrics")
	harness.Must(t, err)
	defer page.Body.Close()
	text, err := io.ReadAll(page.Body)
	harness.Must(t, err)
	for event, want := range map[string]int{"login": 1, "login_refused": 22, "refresh": 0, "refresh_refused": 1, "credential_refused": 1} {
		if line := fmt.Sprintf("cascada_auth_total{event=%q} %d\n", event, want); !strings.Contains(string(text), line) {
			t.Errorf("/metrics has no %s", line)
		}
	}
}

// A client that logs out with an expired access token and a good refresh token is logged out.
func TestLogoutWithAnEndedAccessToken(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		in, refresh := login(t, o)
		s.Clock.Advance(20 * time.Minute)
		r := in.Post(t, "/auth/logout", fmt.Sprintf(`{"refreshToken":%q}`, refresh))
		if after := refreshLogin(t, o, refresh); after.Status == http.StatusOK {
			t.Errorf("the refresh token is still good after a logout with an expired access token: %d %s", r.Status, r.Body)
		}
	})
}
