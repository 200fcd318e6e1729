package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

func (o shop) refresh(t *testing.T, token string) reply {
	t.Helper()
	return o.post(t, "/auth/refresh", fmt.Sprintf(`{"refreshToken":%q}`, token))
}

const badRefresh = "401 invalid_token authentication_error"

func TestLoginNeedsAPairOfOneEnvironment(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o, stranger := s.shop(t), s.shop(t)
		anonymous := o.as("")
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
			t.Run(c.name, func(t *testing.T) { anonymous.post(t, c.path, c.body).refused(t, c.want) })
		}
		for _, path := range []string{"/auth/token", "/auth/refresh"} {
			anonymous.post(t, path, `{}`, "Content-Type: text/plain").refused(t, "415 content_type_required invalid_request_error")
			anonymous.post(t, path, `{}`, "Service-Version: 1").refused(t, "400 invalid_request invalid_request_error param=Service-Version")
			anonymous.post(t, path, oneMiB(`{}`)+" ").refused(t, "413 payload_too_large invalid_request_error")
		}
		access := o.pair(t).text(t, "accessToken")
		anonymous.refresh(t, access).refused(t, badRefresh)
	})
}

func TestLoginGivesTokens(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for environment, keys := range map[string]struct{ publishable, secret string }{
			"sandbox":    {o.Sandbox.Publishable, o.Sandbox.Secret},
			"production": {o.Live.Publishable, o.Live.Secret},
		} {
			login := o.as("").post(t, "/auth/token", fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, keys.publishable, keys.secret))
			login.is(t, http.StatusOK, fmt.Sprintf(`{"accessToken":"<jwt>","refreshToken":"<text>","tokenType":"Bearer","expiresIn":900,
				"environment":%q,"merchant":{"id":%q,"name":"Acme"}}`, environment, o.Merchant.ID))
			fresh := o.as("").refresh(t, login.text(t, "refreshToken"))
			fresh.is(t, http.StatusOK, fmt.Sprintf(`{"accessToken":"<jwt>","refreshToken":"<text>","tokenType":"Bearer","expiresIn":900,
				"refreshExpiresIn":2592000,"environment":%q}`, environment))
			for kind, credential := range map[string]string{
				"secret": keys.secret, "publishable": keys.publishable, "secret ": login.text(t, "accessToken"), "secret  ": fresh.text(t, "accessToken"),
			} {
				r := o.as(credential).get(t, "/ping")
				r.is(t, http.StatusOK, fmt.Sprintf(`{"ok":true,"environment":%q,"keyKind":%q,"keyId":"<masked>","apiVersion":"2026-11-21",
					"merchant":{"id":%q,"name":"Acme"},"timestamp":"<time>"}`, environment, strings.TrimSpace(kind), o.Merchant.ID))
				shown, _, _ := strings.Cut(r.text(t, "keyId"), "…")
				whole := keys.secret
				if kind == "publishable" {
					whole = keys.publishable
				}
				if !strings.HasPrefix(whole, shown) || strings.Contains(string(r.body), whole) || !strings.HasSuffix(r.text(t, "keyId"), whole[len(whole)-4:]) {
					t.Errorf("the masked key does not stand for %s: %s", whole, r)
				}
			}
		}
	})
}

func TestRefreshTokenWorksOnce(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		t.Run("a used one ends the family", func(t *testing.T) {
			login := o.pair(t)
			first := login.text(t, "refreshToken")
			second := o.refresh(t, first).want(t, http.StatusOK)
			third := o.refresh(t, second.text(t, "refreshToken")).want(t, http.StatusOK)
			tokens := map[string]bool{}
			for _, r := range []reply{login, second, third} {
				tokens[r.text(t, "accessToken")] = true
				tokens[r.text(t, "refreshToken")] = true
				o.as(r.text(t, "accessToken")).get(t, "/me").want(t, http.StatusOK)
			}
			if len(tokens) != 6 {
				t.Errorf("three pairs have %d different tokens, want 6", len(tokens))
			}
			o.refresh(t, first).refused(t, badRefresh)
			o.refresh(t, third.text(t, "refreshToken")).refused(t, badRefresh)
			o.refresh(t, o.pair(t).text(t, "refreshToken")).want(t, http.StatusOK)
		})
		t.Run("an altered one does not", func(t *testing.T) {
			token := o.pair(t).text(t, "refreshToken")
			for n := range strings.Split(token, ".") {
				o.refresh(t, altered(token, n)).refused(t, badRefresh)
			}
			o.refresh(t, token+"0").refused(t, badRefresh)
			o.refresh(t, token).want(t, http.StatusOK)
		})
		t.Run("a revoked key's does not", func(t *testing.T) {
			key, err := o.App.Keys.Create(ctx, auth.NewKey{Scope: tenant.Scope{Merchant: o.Merchant.ID, Shop: o.Shop.ID}, Kind: tenant.Secret})
			must(t, err)
			login := o.post(t, "/auth/token", fmt.Sprintf(`{"apiKey":%q,"secretKey":%q}`, o.Sandbox.Publishable, key)).want(t, http.StatusOK)
			revoke(t, o.App, key)
			o.refresh(t, login.text(t, "refreshToken")).refused(t, badRefresh)
		})
		t.Run("of two at once at most one", func(t *testing.T) {
			token := o.pair(t).text(t, "refreshToken")
			replies := make([]reply, 8)
			var all sync.WaitGroup
			for i := range replies {
				all.Go(func() { replies[i] = o.refresh(t, token) })
			}
			all.Wait()
			good := 0
			for _, r := range replies {
				if r.status == http.StatusOK {
					good++
					continue
				}
				r.refused(t, badRefresh)
			}
			if good > 1 {
				t.Errorf("%d of 8 got new tokens for one refresh token, want at most 1", good)
			}
		})
		t.Run("for thirty days", func(t *testing.T) {
			early, late := o.pair(t).text(t, "refreshToken"), o.pair(t).text(t, "refreshToken")
			s.clock.advance(30*24*time.Hour - time.Minute)
			fresh := o.refresh(t, early).want(t, http.StatusOK)
			s.clock.advance(2 * time.Minute)
			o.refresh(t, late).refused(t, badRefresh)
			// Each rotation has thirty days of its own.
			o.refresh(t, fresh.text(t, "refreshToken")).want(t, http.StatusOK)
		})
	})
}

// A program that goes on refreshing logs in anew after a year.
func TestLoginEndsAfterAYear(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		const month = 29 * 24 * time.Hour
		r := o.pair(t)
		token := r.text(t, "refreshToken")
		for range 12 {
			s.clock.advance(month)
			r = o.refresh(t, token).want(t, http.StatusOK)
			token = r.text(t, "refreshToken")
		}
		left, err := time.ParseDuration(r.text(t, "refreshExpiresIn") + "s")
		must(t, err)
		if left.Round(time.Hour) != 17*24*time.Hour {
			t.Errorf("on day 348 the last refresh token lives %s, want 17 days", left)
		}
		s.clock.advance(month)
		o.refresh(t, token).refused(t, badRefresh)
		o.pair(t)
	})
}
