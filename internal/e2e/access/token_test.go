package access

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
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
