package e2e

import (
	"net/http"
	"strings"
	"testing"
)

func TestUnknownRoutesAndMethodsAreTold(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		o := s.shop(t)
		for _, path := range []string{"/nowhere", "/payments/TXN-1/nowhere", "/payments/TXN-1/simulate/x", "/auth", "/", "/providers", "/webhooks/wh_1/x"} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
				o.call(t, method, path, "").refused(t, "404 not_found invalid_request_error")
				o.as("").call(t, method, path, "").refused(t, "404 not_found invalid_request_error")
			}
		}
		for path, allow := range map[string]string{
			"/auth/token": "POST", "/auth/refresh": "POST", "/ping": "GET", "/me": "GET", "/me/balance": "GET", "/payment-methods": "GET",
			"/payments": "GET, POST", "/transactions": "GET, POST", "/payments/TXN-1": "GET", "/transactions/TXN-1": "GET",
			"/payments/TXN-1/simulate": "POST", "/transactions/TXN-1/simulate": "POST", "/webhooks": "GET, POST", "/webhooks/wh_1": "DELETE",
			"/checkout/sessions": "POST", "/checkout/sessions/cs_1": "GET", "/checkout/sessions/cs_1/select": "POST",
			"/providers/sandbox-1/notifications": "POST",
		} {
			for _, method := range []string{http.MethodPut, http.MethodPatch, http.MethodOptions} {
				r := o.call(t, method, path, "")
				r.refused(t, "405 method_not_allowed invalid_request_error")
				allow := strings.Replace(allow, "GET", "GET, HEAD", 1) // what is read can be asked about
				if got := r.header.Get("Allow"); got != allow {
					t.Errorf("Allow is %q, want %q: %s", got, allow, r)
				}
			}
		}
		for _, path := range []string{"/", "/api", "/api/v2/ping", "/favicon.ico"} {
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
