package wire

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// FuzzQuery: whatever the query string, a handler gets each parameter as net/url reads it, or the
// request is refused with 400: no filter is lost on the way.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{
		"", "limit=5", "limit", "limit=", "limit=&status=", "limit=5&limit=6", "status=a+b&limit=5", "%6Cimit=5", "limit%3D5", "limit==5", "&&limit=5&&", "=5&limit=4", "status=a=b&limit=1",
		"limit=5;status=x", "limit=%", "limit=%zz", "%=1", "status=%00", "status=%ff", "status=%C3%A9", "stat%75s=paid&all", "all=true", "all=1", "all", "all&limit=2", "limi=5", "nonsense", "nonsense&status=x",
		"+limit=5", "limit+=5", "\xff=1", "limit=5&\x00", "limit=5#status=x", "?limit=5", "status=&", "a&b&c&status=x&d", "status=x&=&limit=3", "[]=1", "status[]=1", "strict=true", "strict=true&limit=1", "strict",
	} {
		f.Add(query)
	}
	type in struct {
		Limit  string `query:"limit"`
		Status string `query:"status"`
		All    bool   `query:"all"`
	}
	type out struct{}
	var got *in
	inner := http.NewServeMux()
	refuse := func(w http.ResponseWriter, _ *http.Request, err error) { w.WriteHeader(http.StatusBadRequest) }
	api := humago.New(Mux{ServeMux: inner, Refuse: refuse}, huma.DefaultConfig("x", "1"))
	api.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		if _, _, err := CheckQuery(ctx.Operation(), r.URL.RawQuery, false, func(string) bool { return false }); err != nil {
			refuse(w, r, err)
			return
		}
		next(ctx)
	})
	huma.Get(api, "/list", func(_ context.Context, asked *in) (*out, error) {
		got = asked
		return nil, nil
	})
	f.Fuzz(func(t *testing.T, query string) {
		got = nil
		r := httptest.NewRequest(http.MethodGet, "/list", nil)
		r.URL.RawQuery = query
		reply := httptest.NewRecorder()
		inner.ServeHTTP(reply, r)
		if got == nil {
			if reply.Code != http.StatusBadRequest && reply.Code != http.StatusUnprocessableEntity {
				t.Errorf("%q: refused with %d", query, reply.Code)
			}
			return
		}
		want, err := url.ParseQuery(query)
		if err != nil {
			t.Fatalf("%q is read: %v", query, err)
		}
		if got.Limit != want.Get("limit") || got.Status != want.Get("status") || got.All != (want.Get("all") == "true") {
			t.Errorf("%q: read as %+v", query, *got)
		}
		for name, values := range want {
			if (name == "limit" || name == "status" || name == "all") && len(values) > 1 {
				t.Errorf("%q: %s is sent %d times, and read", query, name, len(values))
			}
		}
	})
}
