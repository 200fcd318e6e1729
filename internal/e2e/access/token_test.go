package access

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

func refreshLogin(t *testing.T, o harness.Client, token string) harness.Reply {
	t.Helper()
	return o.Post(t, "/auth/refresh", fmt.Sprintf(`{"refreshToken":%q}`, token))
}

const badRefresh = "401 invalid_token authentication_error"

func TestLoginNeedsAPairOfOneEnvironment(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o, stranger := s.NewShop(t), s.NewShop(t)
		anonymous := o.As("")
		const bad = "401 invalid_api_key authentication_error"
		pair := func(publishable, secret string) string {
			return fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, publishable, secret)
		}
		for _, c := range []struct{ name, path, body, want string }{
			{"an unknown secret", "/auth/token", pair(o.Sandbox.Publishable, "sk_test_x"), bad},
			{"an unknown key", "/auth/token", pair("pk_test_x", o.Sandbox.Secret), bad},
			{"empty halves", "/auth/token", pair("", ""), bad},
			{"test key, live secret", "/auth/token", pair(o.Sandbox.Publishable, o.Live.Secret), bad},
			{"live key, test secret", "/auth/token", pair(o.Live.Publishable, o.Sandbox.Secret), bad},
			{"halves swapped", "/auth/token", pair(o.Sandbox.Secret, o.Sandbox.Publishable), bad},
			{"two secrets", "/auth/token", pair(o.Sandbox.Secret, o.Sandbox.Secret), bad},
			{"another shop's secret", "/auth/token", pair(o.Sandbox.Publishable, stranger.Sandbox.Secret), bad},
			{"no key", "/auth/token", `{"secretKey":"x"}`, "400 missing_field invalid_request_error param=apiKey issues=apiKey missing=apiKey"},
			{"no secret", "/auth/token", `{"apiKey":"x"}`, "400 missing_field invalid_request_error param=secretKey issues=secretKey missing=secretKey"},
			{"nothing", "/auth/token", `{}`, "400 invalid_request invalid_request_error param=apiKey issues=apiKey,secretKey missing=apiKey,secretKey"},
			{"a number", "/auth/token", `{"apiKey":5,"secretKey":"x"}`, "400 invalid_request invalid_request_error param=apiKey issues=apiKey"},
			{"no body", "/auth/token", ``, "400 invalid_json invalid_request_error"},
			{"no refresh token", "/auth/refresh", `{}`, "400 missing_field invalid_request_error param=refreshToken issues=refreshToken missing=refreshToken"},
			{"an unknown refresh token", "/auth/refresh", `{"refreshToken":"rt_lgn_1.1.00"}`, badRefresh},
			{"no refresh token but a text", "/auth/refresh", `{"refreshToken":"hello"}`, badRefresh},
			{"a key to refresh", "/auth/refresh", `{"refreshToken":"` + o.Sandbox.Secret + `"}`, badRefresh},
			{"a refresh token as a number", "/auth/refresh", `{"refreshToken":5}`, "400 invalid_request invalid_request_error param=refreshToken issues=refreshToken"},
			{"broken JSON", "/auth/refresh", `{`, "400 invalid_json invalid_request_error"},
		} {
			t.Run(c.name, func(t *testing.T) { anonymous.Post(t, c.path, c.body).Refused(t, c.want) })
		}
		for _, path := range []string{"/auth/token", "/auth/refresh"} {
			anonymous.Post(t, path, `{}`, "Content-Type: text/plain").Refused(t, "415 content_type_required invalid_request_error")
			anonymous.Post(t, path, `{}`, "Service-Version: 1").Refused(t, "400 invalid_request invalid_request_error param=Service-Version")
			anonymous.Post(t, path, harness.OneMiB(`{}`)+" ").Refused(t, "413 payload_too_large invalid_request_error")
		}
		access := harness.Pair(t, o).Text(t, "accessToken")
		refreshLogin(t, anonymous, access).Refused(t, badRefresh)
	})
}

func TestLoginGivesTokens(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for environment, keys := range map[string]struct{ publishable, secret string }{
			"sandbox":    {o.Sandbox.Publishable, o.Sandbox.Secret},
			"production": {o.Live.Publishable, o.Live.Secret},
		} {
			login := o.As("").Post(t, "/auth/token", fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, keys.publishable, keys.secret))
			login.Is(t, http.StatusOK, fmt.Sprintf(`{"accessToken":"<jwt>","refreshToken":"<text>","tokenType":"Bearer","expiresIn":900,
				"environment":%q,"merchant":{"id":%q,"name":"Acme"}}`, environment, o.Merchant.ID))
			fresh := refreshLogin(t, o.As(""), login.Text(t, "refreshToken"))
			fresh.Is(t, http.StatusOK, fmt.Sprintf(`{"accessToken":"<jwt>","refreshToken":"<text>","tokenType":"Bearer","expiresIn":900,
				"refreshExpiresIn":2592000,"environment":%q}`, environment))
			for kind, credential := range map[string]string{
				"secret": keys.secret, "publishable": keys.publishable, "secret ": login.Text(t, "accessToken"), "secret  ": fresh.Text(t, "accessToken"),
			} {
				r := o.As(credential).Get(t, "/ping")
				r.Is(t, http.StatusOK, fmt.Sprintf(`{"ok":true,"environment":%q,"keyKind":%q,"keyId":"<masked>","apiVersion":"2026-11-21",
					"merchant":{"id":%q,"name":"Acme"},"timestamp":"<time>"}`, environment, strings.TrimSpace(kind), o.Merchant.ID))
				shown, _, _ := strings.Cut(r.Text(t, "keyId"), "…")
				whole := keys.secret
				if kind == "publishable" {
					whole = keys.publishable
				}
				if !strings.HasPrefix(whole, shown) || strings.Contains(string(r.Body), whole) || !strings.HasSuffix(r.Text(t, "keyId"), whole[len(whole)-4:]) {
					t.Errorf("keyId is not the masked form of %s: %s", whole, r)
				}
			}
		}
	})
}

func TestRefreshTokenWorksOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		t.Run("a used one ends the family", func(t *testing.T) {
			login := harness.Pair(t, o)
			first := login.Text(t, "refreshToken")
			second := refreshLogin(t, o, first).Want(t, http.StatusOK)
			third := refreshLogin(t, o, second.Text(t, "refreshToken")).Want(t, http.StatusOK)
			tokens := map[string]bool{}
			for _, r := range []harness.Reply{login, second, third} {
				tokens[r.Text(t, "accessToken")] = true
				tokens[r.Text(t, "refreshToken")] = true
				o.As(r.Text(t, "accessToken")).Get(t, "/me").Want(t, http.StatusOK)
			}
			if len(tokens) != 6 {
				t.Errorf("three pairs have %d different tokens, want 6", len(tokens))
			}
			refreshLogin(t, o, first).Refused(t, badRefresh)
			refreshLogin(t, o, third.Text(t, "refreshToken")).Refused(t, badRefresh)
			refreshLogin(t, o, harness.Pair(t, o).Text(t, "refreshToken")).Want(t, http.StatusOK)
		})
		t.Run("an altered one does not", func(t *testing.T) {
			token := harness.Pair(t, o).Text(t, "refreshToken")
			for n := range strings.Split(token, ".") {
				refreshLogin(t, o, altered(token, n)).Refused(t, badRefresh)
			}
			refreshLogin(t, o, token+"0").Refused(t, badRefresh)
			refreshLogin(t, o, token).Want(t, http.StatusOK)
		})
		t.Run("a revoked key's does not", func(t *testing.T) {
			key, err := o.App.Keys.Create(ctx, o.App.Self(), auth.NewKey{Scope: merchants.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}, Kind: merchants.Secret})
			harness.Must(t, err)
			login := o.Post(t, "/auth/token", fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, o.Sandbox.Publishable, key)).Want(t, http.StatusOK)
			revoke(t, o.App, key)
			refreshLogin(t, o, login.Text(t, "refreshToken")).Refused(t, badRefresh)
		})
		t.Run("of two at once at most one", func(t *testing.T) {
			token := harness.Pair(t, o).Text(t, "refreshToken")
			replies := make([]harness.Reply, 8)
			var all sync.WaitGroup
			for i := range replies {
				all.Go(func() { replies[i] = refreshLogin(t, o, token) })
			}
			all.Wait()
			good := 0
			for _, r := range replies {
				if r.Status == http.StatusOK {
					good++
					continue
				}
				r.Refused(t, badRefresh)
			}
			if good > 1 {
				t.Errorf("%d of 8 requests got new tokens for one refresh token, want 1 at most", good)
			}
		})
		t.Run("for thirty days", func(t *testing.T) {
			early, late := harness.Pair(t, o).Text(t, "refreshToken"), harness.Pair(t, o).Text(t, "refreshToken")
			s.Clock.Advance(30*24*time.Hour - time.Minute)
			fresh := refreshLogin(t, o, early).Want(t, http.StatusOK)
			s.Clock.Advance(2 * time.Minute)
			refreshLogin(t, o, late).Refused(t, badRefresh)
			// A new refresh token has its own thirty days.
			refreshLogin(t, o, fresh.Text(t, "refreshToken")).Want(t, http.StatusOK)
		})
	})
}

// A login ends after a year, even if a program goes on refreshing it.
func TestLoginEndsAfterAYear(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		const month = 29 * 24 * time.Hour
		r := harness.Pair(t, o)
		token := r.Text(t, "refreshToken")
		for range 12 {
			s.Clock.Advance(month)
			r = refreshLogin(t, o, token).Want(t, http.StatusOK)
			token = r.Text(t, "refreshToken")
		}
		left, err := time.ParseDuration(r.Text(t, "refreshExpiresIn") + "s")
		harness.Must(t, err)
		if left.Round(time.Hour) != 17*24*time.Hour {
			t.Errorf("on day 348 the refresh token has %s left, want 17 days", left)
		}
		s.Clock.Advance(month)
		refreshLogin(t, o, token).Refused(t, badRefresh)
		harness.Pair(t, o)
	})
}
