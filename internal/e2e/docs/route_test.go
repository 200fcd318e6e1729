package docs

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// placeholder matches a parameter in a path of the OpenAPI document.
var placeholder = regexp.MustCompile(`\{\w+\}`)

// takes reports whether some template that matches the path has the method: /kyc/init also matches
// /kyc/{id}.
func takes(s *harness.Spec, path, method string) bool {
	for template, item := range s.Paths {
		same := regexp.MustCompile("^" + placeholder.ReplaceAllString(template, `[^/]+`) + "$").MatchString(path)
		if _, ok := harness.At(item, strings.ToLower(method)); ok && same {
			return true
		}
	}
	return false
}

func TestUnknownRoutesAndMethodsAreTold(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		o := s.NewShop(t)
		for _, path := range []string{"/nowhere", "/payments/TXN-1/nowhere", "/payments/TXN-1/simulate/x", "/auth", "/", "/providers", "/webhooks/wh_1/x"} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
				o.Call(t, method, path, "").Refused(t, "404 not_found invalid_request_error")
				o.As("").Call(t, method, path, "").Refused(t, "404 not_found invalid_request_error")
			}
		}
		allowed := map[string]string{"/providers/sandbox-1/notifications": "POST"}
		for template := range s.Spec.Paths {
			path := placeholder.ReplaceAllString(template, "x")
			var methods []string
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
				if takes(s.Spec, path, method) {
					methods = append(methods, method)
				}
			}
			allowed[path] = strings.Replace(strings.Join(methods, ", "), "GET", "GET, HEAD", 1) // every GET also has HEAD
		}
		for path, allow := range allowed {
			for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodOptions} {
				if strings.Contains(allow, method) {
					continue
				}
				r := o.Call(t, method, path, "")
				r.Refused(t, "405 method_not_allowed invalid_request_error")
				if got := r.Header.Get("Allow"); got != allow {
					t.Errorf("Allow is %q, want %q: %s", got, allow, r)
				}
			}
		}
		for _, path := range []string{"/api", "/api/v2/ping", "/favicon.ico"} {
			r := s.Send(t, harness.Request{Method: http.MethodGet, Path: path})
			r.Refused(t, "404 not_found invalid_request_error")
		}
		for _, e := range harness.Endpoints("TXN-1", "wh_1") {
			r := o.Call(t, e.Method, e.Path, e.Body, "Service-Version: 2026-11-22")
			r.Refused(t, "400 invalid_request invalid_request_error param=Service-Version")
		}
		if n := o.Total(t, nil); n != "0" {
			t.Errorf("the shop has %s payments, want none", n)
		}
	})
}
