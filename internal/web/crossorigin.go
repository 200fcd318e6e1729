package web

import "net/http"

// CrossOrigin lets pages of other origins read the replies of what is shared: requests that shared reports, and the preflights that
// a browser sends before them. shared gets the method that the page will use.
//
// Any origin may: no cookie is accepted with such a request, so that a page can do no more than its own credentials let any program do.
func CrossOrigin(next http.Handler, shared func(r *http.Request, method string) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") == "" {
			next.ServeHTTP(w, r)
			return
		}
		h, wanted := w.Header(), r.Header.Get("Access-Control-Request-Method")
		switch preflight := r.Method == http.MethodOptions && wanted != ""; {
		case preflight && shared(r, wanted):
			h.Set("Access-Control-Allow-Origin", "*")
			h.Set("Access-Control-Allow-Methods", wanted)
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Service-Version, X-Request-Id")
			h.Set("Access-Control-Max-Age", "7200")
			w.WriteHeader(http.StatusNoContent)
			return
		case !preflight && shared(r, r.Method):
			h.Set("Access-Control-Allow-Origin", "*")
			h.Set("Access-Control-Expose-Headers", "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, Service-Ignored, Service-Version, X-Request-Id")
		}
		next.ServeHTTP(w, r)
	})
}
