// Package web is HTTP plumbing that knows nothing of payments: requests and their ids,
// panics, unknown routes, graceful shutdown.
package web

import (
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"
)

// Recover turns a panic into the reply of fail, and logs it. A reply that had begun is cut
// off, so that the client sees that it is incomplete.
func Recover(next http.Handler, log *slog.Logger, fail http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &tracker{ResponseWriter: w}
		defer func() {
			reason := recover()
			if reason == nil {
				return
			}
			if reason == http.ErrAbortHandler { // cut off on purpose, and already logged
				panic(reason)
			}
			log.ErrorContext(r.Context(), "a request panicked", "route", r.Pattern,
				"panic", fmt.Sprint(reason), "stack", string(debug.Stack()))
			if t.begun {
				panic(http.ErrAbortHandler)
			}
			fail(w, r)
		}()
		next.ServeHTTP(t, r)
	})
}

// tracker records whether the reply has begun.
type tracker struct {
	http.ResponseWriter
	begun bool
}

func (t *tracker) WriteHeader(status int) {
	t.begun = true
	t.ResponseWriter.WriteHeader(status)
}

func (t *tracker) Write(b []byte) (int, error) {
	t.begun = true
	return t.ResponseWriter.Write(b)
}

// Begun reports whether a reply below Recover has begun: it can no longer become another one.
func Begun(w http.ResponseWriter) bool {
	for {
		switch known := w.(type) {
		case *tracker:
			return known.begun
		case interface{ Unwrap() http.ResponseWriter }:
			w = known.Unwrap()
		default:
			return false
		}
	}
}

// Unwrap implements http.ResponseController.
func (t *tracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Unrouted answers requests without a matching route: by notAllowed, with the Allow header
// set, if other methods exist, else by notFound. Register it as the mux's "/".
func Unrouted(mux *http.ServeMux, notFound, notAllowed http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
			other := r.Clone(r.Context())
			other.Method = method
			if _, pattern := mux.Handler(other); pattern != "/" && pattern != "" {
				allowed = append(allowed, method)
				if method == "GET" { // GET routes answer HEAD too
					allowed = append(allowed, "HEAD")
				}
			}
		}
		if len(allowed) == 0 {
			notFound(w, r)
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		notAllowed(w, r)
	})
}

// Straight reports whether a mux matches a request's path unchanged. The mux answers other
// paths, and CONNECT, by itself, and they are not counted.
func Straight(r *http.Request) bool {
	clean := path.Clean("/" + r.URL.Path)
	if clean != "/" && strings.HasSuffix(r.URL.Path, "/") {
		clean += "/"
	}
	return r.Method != http.MethodConnect && r.URL.Path == clean
}

// ClientIP is the client's address: the first hop of X-Forwarded-For, then X-Real-Ip, then
// the connection's (CHK-21). A client can forge it: it is of use to a risk engine, but not
// to be trusted.
func ClientIP(header http.Header, remote string) string {
	first, _, _ := strings.Cut(header.Get("X-Forwarded-For"), ",")
	for _, candidate := range []string{first, header.Get("X-Real-Ip")} {
		if ip, ok := parseHop(strings.TrimSpace(candidate)); ok {
			return ip.String()
		}
	}
	if of, ok := parseHop(remote); ok {
		return of.String()
	}
	return ""
}

// Private sets the headers of replies that are not pages: no cache keeps them, and no browser guesses
// their type or reads them as a page.
func Private(h http.Header) {
	v := []string{"no-store", "nosniff", NoPage}
	h["Cache-Control"], h["X-Content-Type-Options"], h["Content-Security-Policy"] = v[0:1:1], v[1:2:2], v[2:3:3]
}

// NoPage is the Content-Security-Policy of replies that are not pages: they load nothing,
// and no page may embed them.
const NoPage = "default-src 'none'; frame-ancestors 'none'"

// headersWithin is how long a request's headers may take to arrive.
const headersWithin = 10 * time.Second

// Server returns a server with the limits of a public one.
func Server(handler http.Handler, log *slog.Logger) *http.Server {
	one := new(http.Protocols)
	one.SetHTTP1(true) // streams and resets of HTTP/2 are bounded by the proxy that speaks it
	return &http.Server{
		Handler:           handler,
		Protocols:         one,
		ReadHeaderTimeout: headersWithin,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      60 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
