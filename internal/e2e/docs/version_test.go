package docs

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/daemon"
	"github.com/cascadapay/cascada/internal/e2e/harness"
)

func TestEveryReplyTellsVersionAndRequest(t *testing.T) {
	harness.Limited(t, func(l *daemon.Limits) { harness.Few(l); l.Sandbox = 20 }, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		json := func(credential string, more ...string) http.Header {
			h := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + credential}, "X-Request-Id": {"mine"}}
			for i := 0; i < len(more); i += 2 {
				h.Set(more[i], more[i+1])
			}
			return h
		}
		good := json(o.Credential)
		notifications := harness.APIPath + "/providers/sandbox-1/notifications"
		id := o.Create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		paid := harness.NoticeBody(id, harness.Paid50)
		signed := json("", "X-Sandbox-Signature", s.Sign("sandbox-1", paid))
		seen := map[string]bool{}
		for _, c := range []struct {
			method, path, body string
			header             http.Header
			status             int
		}{
			{"GET", harness.APIPath + "/ping", "", good, 200},
			{"GET", harness.APIPath + "/ping", "", json(o.Credential, "Service-Version", "2026-11-21"), 200},
			{"HEAD", harness.APIPath + "/ping", "", good, 200},
			{"POST", harness.APIPath + "/payments", harness.Card, good, 201},
			{"POST", harness.APIPath + "/payments", `{`, good, 400},
			{"GET", harness.APIPath + "/ping", "", json(o.Credential, "Service-Version", "2026-11-20"), 400},
			{"GET", harness.APIPath + "/ping", "", json("nonsense"), 401},
			{"POST", harness.APIPath + "/auth/token", harness.LoginBody("a", "b"), json(""), 401},
			{"POST", harness.APIPath + "/payments", `{"amount":10.05,"paymentMethodId":"sbx_card"}`, good, 402},
			{"GET", harness.APIPath + "/me", "", json(o.Sandbox.Publishable), 403},
			{"GET", harness.APIPath + "/nowhere", "", good, 404},
			{"HEAD", harness.APIPath + "/nowhere", "", good, 404},
			{"GET", "/favicon.ico", "", nil, 404},
			{"GET", harness.APIPath + "/payments/TXN-1", "", good, 404},
			{"DELETE", harness.APIPath + "/payments", "", good, 405},
			{"HEAD", harness.APIPath + "/auth/token", "", nil, 405},
			{"OPTIONS", harness.APIPath + "/payments", "", nil, 405},
			{"POST", harness.APIPath + "/payments/" + id + "/simulate", `{"action":"refunded"}`, good, 409},
			{"POST", harness.APIPath + "/payments", harness.OneMiB(`{}`) + " ", good, 413},
			{"POST", harness.APIPath + "/payments", harness.Card, json(o.Credential, "Content-Type", "text/plain"), 415},
			{"POST", harness.APIPath + "/payments", `{"amount":0.01,"paymentMethodId":"sbx_cash"}`, good, 422},
			{"POST", notifications, paid, signed, 200},
			{"POST", notifications, paid, json(""), 401},
			{"POST", harness.APIPath + "/providers/nobody/notifications", paid, json(""), 401},
			{"POST", notifications, harness.OneMiB(`{}`) + " ", json(""), 413},
			{"GET", notifications, "", nil, 405},
			{"GET", "/api/openapi.json", "", nil, 200},
		} {
			res, body := harness.Raw(t, s, c.method, c.path, c.body, c.header)
			request := res.Header.Get("X-Request-Id")
			if res.StatusCode != c.status || res.Header.Get("Service-Version") != "2026-11-21" || !strings.HasPrefix(request, "req_") || seen[request] ||
				len(res.Header.Values("X-Request-Id")) != 1 {
				t.Errorf("%s %s: want %d with the version and a new request id, got %d %v", c.method, c.path, c.status, res.StatusCode, res.Header)
			}
			seen[request] = true
			if c.method == "HEAD" && body != "" || c.method != "HEAD" && res.StatusCode >= 400 && !strings.Contains(body, `"requestId":"`+request+`"`) {
				t.Errorf("%s %s: %d has the body %q; want none for HEAD, and the request id in an error", c.method, c.path, res.StatusCode, body)
			}
		}
		for o.Get(t, "/ping").Status == http.StatusOK { // Send checks each reply
			continue
		}
		o.Get(t, "/ping").Refused(t, harness.TooMany)
		if res, body := harness.Raw(t, s, "HEAD", harness.APIPath+"/ping", "", good); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") != "1" || body != "" {
			t.Errorf("HEAD over the limit returns %d %v %q, want 429 without a body", res.StatusCode, res.Header, body)
		}
	})
}

func TestProbesAnswerInPlainText(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		for _, path := range []string{"/healthz", "/readyz"} {
			for method, want := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "PUT": 405, "DELETE": 405, "OPTIONS": 405} {
				res, body := harness.Raw(t, s, method, path, "", nil)
				if res.StatusCode != want || res.Header.Get("Content-Type") != "text/plain; charset=utf-8" || method != "HEAD" && body == "" ||
					want == http.StatusMethodNotAllowed && res.Header.Get("Allow") != "GET, HEAD" {
					t.Errorf("%s %s: want %d in plain text, got %d %v %q", method, path, want, res.StatusCode, res.Header, body)
				}
			}
		}
	})
}
