package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// placeholder is a parameter in a path of the OpenAPI document.
var placeholder = regexp.MustCompile(`\{\w+\}`)

// takes reports whether some path of the document takes a method at a concrete
// one: /kyc/init is also a /kyc/{id}.
func (s *spec) takes(path, method string) bool {
	for template, item := range s.paths {
		same := regexp.MustCompile("^" + placeholder.ReplaceAllString(template, `[^/]+`) + "$").MatchString(path)
		if _, ok := at(item, strings.ToLower(method)); ok && same {
			return true
		}
	}
	return false
}

func TestUnknownRoutesAndMethodsAreTold(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for _, path := range []string{"/nowhere", "/payments/TXN-1/nowhere", "/payments/TXN-1/simulate/x", "/auth", "/", "/providers", "/webhooks/wh_1/x"} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
				o.call(t, method, path, "").refused(t, "404 not_found invalid_request_error")
				o.as("").call(t, method, path, "").refused(t, "404 not_found invalid_request_error")
			}
		}
		allowed := map[string]string{"/providers/sandbox-1/notifications": "POST"}
		for template := range s.spec.paths {
			path := placeholder.ReplaceAllString(template, "x")
			var methods []string
			for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
				if s.spec.takes(path, method) {
					methods = append(methods, method)
				}
			}
			allowed[path] = strings.Replace(strings.Join(methods, ", "), "GET", "GET, HEAD", 1) // what is read can be asked about
		}
		for path, allow := range allowed {
			for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodOptions} {
				if strings.Contains(allow, method) {
					continue
				}
				r := o.call(t, method, path, "")
				r.refused(t, "405 method_not_allowed invalid_request_error")
				if got := r.header.Get("Allow"); got != allow {
					t.Errorf("Allow is %q, want %q: %s", got, allow, r)
				}
			}
		}
		for _, path := range []string{"/api", "/api/v2/ping", "/favicon.ico"} {
			r := s.send(t, request{method: http.MethodGet, path: path})
			r.refused(t, "404 not_found invalid_request_error")
		}
		for _, e := range endpoints("TXN-1", "wh_1") {
			r := o.call(t, e.method, e.path, e.body, "Service-Version: 2026-11-22")
			r.refused(t, "400 invalid_request invalid_request_error param=Service-Version")
		}
		if n := o.total(t, nil); n != "0" {
			t.Errorf("the shop has %s payments, want none", n)
		}
	})
}
