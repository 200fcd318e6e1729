package web

import (
	"context"
	"net/http"
	"strings"
)

// Request is what is known of a request, for logs, metrics and traces. Its ids never change;
// the rest is for the goroutine that serves it.
type Request struct {
	ID string // ours
	// Caller is the X-Request-Id that the request came with, "" without one or where it is not
	// fit for a log. It is the caller's word: for a log only.
	Caller string
	// Route is the pattern of the path that took the request, such as /api/v1/payments/{id}; ""
	// where none did.
	Route    string
	Merchant string // whose credentials it has, "" before they were looked at and where it has none
}

type requestKey struct{}

// RequestOf returns what is known of the request that a context belongs to; nil of what is none.
func RequestOf(ctx context.Context) *Request {
	known, _ := ctx.Value(requestKey{}).(*Request)
	return known
}

// RequestID returns the id of the request that a context belongs to, "" of what is none.
func RequestID(ctx context.Context) string {
	if known := RequestOf(ctx); known != nil {
		return known.ID
	}
	return ""
}

// CallerID returns what its caller called it, as Request has it.
func CallerID(ctx context.Context) string {
	if known := RequestOf(ctx); known != nil {
		return known.Caller
	}
	return ""
}

// Owned notes whose credentials a request has.
func Owned(ctx context.Context, merchant string) {
	if known := RequestOf(ctx); known != nil {
		known.Merchant = merchant
	}
}

// longestCallerID is the longest id of a caller that is logged.
const longestCallerID = 128

// Identify gives each request an id, which its reply carries as X-Request-Id.
// One that the caller sent is not taken over: two requests could have the same.
func Identify(next http.Handler, newID func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known := &Request{ID: newID(), Caller: r.Header.Get("X-Request-Id")}
		unfit := func(c rune) bool { return c <= ' ' || c > '~' }
		if len(known.Caller) > longestCallerID || strings.ContainsFunc(known.Caller, unfit) {
			known.Caller = ""
		}
		w.Header()["X-Request-Id"] = []string{known.ID}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, known)))
	})
}

// Routed lets a mux serve requests, and notes which of its patterns took each. Where it has
// handed one on to another mux, that one has said so before. "/" is no route: it takes what
// no other does.
func Routed(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { // also of one that panicked
			known := RequestOf(r.Context())
			if _, path, found := strings.Cut(r.Pattern, "/"); known != nil && found && path != "" && known.Route == "" {
				known.Route = "/" + path
			}
		}()
		mux.ServeHTTP(w, r)
	})
}
