package e2e

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/daemon"
)

// raw makes a request and returns its reply as it is, with the body.
func (s *service) raw(t *testing.T, method, path, body string, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, s.URL+path, strings.NewReader(body))
	must(t, err)
	if header != nil {
		req.Header = header
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	must(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must(t, err)
	return res, string(text)
}

func TestEveryReplyTellsVersionAndRequest(t *testing.T) {
	limited(t, func(l *daemon.Limits) { few(l); l.Sandbox = 20 }, func(t *testing.T, s *service) {
		o := s.shop(t)
		json := func(credential string, more ...string) http.Header {
			h := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer " + credential}, "X-Request-Id": {"mine"}}
			for i := 0; i < len(more); i += 2 {
				h.Set(more[i], more[i+1])
			}
			return h
		}
		good := json(o.credential)
		notifications := apiPath + "/providers/sandbox-1/notifications"
		id := o.create(t, `{"amount":10,"paymentMethodId":"sbx_cash"}`)
		paid := note(id, paid50)
		signed := json("", "X-Sandbox-Signature", s.sign("sandbox-1", paid))
		seen := map[string]bool{}
		for _, c := range []struct {
			method, path, body string
			header             http.Header
			status             int
		}{
			{"GET", apiPath + "/ping", "", good, 200},
			{"GET", apiPath + "/ping", "", json(o.credential, "Service-Version", "2026-11-21"), 200},
			{"HEAD", apiPath + "/ping", "", good, 200},
			{"POST", apiPath + "/payments", card, good, 201},
			{"POST", apiPath + "/payments", `{`, good, 400},
			{"GET", apiPath + "/ping", "", json(o.credential, "Service-Version", "2026-11-20"), 400},
			{"GET", apiPath + "/ping", "", json("nonsense"), 401},
			{"POST", apiPath + "/auth/token", loginBody("a", "b"), json(""), 401},
			{"POST", apiPath + "/payments", `{"amount":10.05,"paymentMethodId":"sbx_card"}`, good, 402},
			{"GET", apiPath + "/me", "", json(o.Sandbox.Publishable), 403},
			{"GET", apiPath + "/nowhere", "", good, 404},
			{"HEAD", apiPath + "/nowhere", "", good, 404},
			{"GET", "/favicon.ico", "", nil, 404},
			{"GET", apiPath + "/payments/TXN-1", "", good, 404},
			{"DELETE", apiPath + "/payments", "", good, 405},
			{"HEAD", apiPath + "/auth/token", "", nil, 405},
			{"OPTIONS", apiPath + "/payments", "", nil, 405},
			{"POST", apiPath + "/payments/" + id + "/simulate", `{"action":"refunded"}`, good, 409},
			{"POST", apiPath + "/payments", oneMiB(`{}`) + " ", good, 413},
			{"POST", apiPath + "/payments", card, json(o.credential, "Content-Type", "text/plain"), 415},
			{"POST", apiPath + "/payments", `{"amount":0.01,"paymentMethodId":"sbx_cash"}`, good, 422},
			{"POST", notifications, paid, signed, 200},
			{"POST", notifications, paid, json(""), 401},
			{"POST", apiPath + "/providers/nobody/notifications", paid, json(""), 404},
			{"POST", notifications, oneMiB(`{}`) + " ", json(""), 413},
			{"GET", notifications, "", nil, 405},
			{"GET", "/api/openapi.json", "", nil, 200},
		} {
			res, body := s.raw(t, c.method, c.path, c.body, c.header)
			request := res.Header.Get("X-Request-Id")
			if res.StatusCode != c.status || res.Header.Get("Service-Version") != "2026-11-21" || !strings.HasPrefix(request, "req_") || seen[request] ||
				len(res.Header.Values("X-Request-Id")) != 1 {
				t.Errorf("%s %s: want %d with the version and a request id of its own, got %d %v", c.method, c.path, c.status, res.StatusCode, res.Header)
			}
			seen[request] = true
			if c.method == "HEAD" && body != "" || c.method != "HEAD" && res.StatusCode >= 400 && !strings.Contains(body, `"requestId":"`+request+`"`) {
				t.Errorf("%s %s: %d with the body %q", c.method, c.path, res.StatusCode, body)
			}
		}
		for o.get(t, "/ping").status == http.StatusOK { // every one of them is checked by send
			continue
		}
		o.get(t, "/ping").refused(t, tooMany)
		if res, body := s.raw(t, "HEAD", apiPath+"/ping", "", good); res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") != "1" || body != "" {
			t.Errorf("HEAD beyond the limit: %d %v %q", res.StatusCode, res.Header, body)
		}
	})
}

func TestProbesAnswerInPlainText(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for _, path := range []string{"/healthz", "/readyz"} {
			for method, want := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "PUT": 405, "DELETE": 405, "OPTIONS": 405} {
				res, body := s.raw(t, method, path, "", nil)
				if res.StatusCode != want || res.Header.Get("Content-Type") != "text/plain; charset=utf-8" || method != "HEAD" && body == "" ||
					want == http.StatusMethodNotAllowed && res.Header.Get("Allow") != "GET, HEAD" {
					t.Errorf("%s %s: want %d in plain text, got %d %v %q", method, path, want, res.StatusCode, res.Header, body)
				}
			}
		}
	})
}
