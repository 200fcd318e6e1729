package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/web"
)

func TestRequestHasOurIDAndKeepsTheCallersForTheLog(t *testing.T) {
	for sent, want := range map[string]string{
		"":                       "",
		"order-7.attempt:1":      "order-7.attempt:1",
		strings.Repeat("x", 128): strings.Repeat("x", 128),
		strings.Repeat("x", 129): "",
		"two words":              "",
		"línea":                  "",
		"a\x01b":                 "",
	} {
		var ours, theirs string
		h := web.Identify(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			ours, theirs = web.RequestID(r.Context()), web.CallerID(r.Context())
		}), func() string { return "req_1" })
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("X-Request-Id", sent)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if ours != "req_1" || theirs != want || w.Header().Get("X-Request-Id") != "req_1" {
			t.Errorf("sent %q: ours %q, the reply's %q, theirs %q, want %q", sent, ours, w.Header().Get("X-Request-Id"), theirs, want)
		}
	}
}
