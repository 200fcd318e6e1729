package web

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/cardnumber"
)

// Request is the data about a request for logs, metrics and traces. Its ids never change;
// the rest belongs to the goroutine that serves it.
type Request struct {
	ID string // ours
	// Caller is the X-Request-Id of the request, "" if it had none or one that is not fit for
	// a log. It is untrusted: for logs only.
	Caller string
	// Route is the pattern that matched the request's path, such as /api/v1/payments/{id}; ""
	// if none did.
	Route    string
	Merchant string // the merchant of its credentials, "" before they are checked or if there are none
	Key      Key    // its API key, zero before that is checked or if there is none
	Failure  Failure
}

// Key is the API key with which a request is made.
type Key struct {
	ID, Preview string
	Shop        string // "": the whole merchant
	Live        bool
	Object      string // the id in the request's path
}

// Failure is the error with which a request is answered, as its caller sees it; zero for none.
type Failure struct {
	Code, Message, Param string
	Fields               []string // that are wrong
}

type requestKey struct{}

// RequestOf returns the Request of a context, or nil.
func RequestOf(ctx context.Context) *Request {
	known, _ := ctx.Value(requestKey{}).(*Request)
	return known
}

// RequestID returns the id of a context's request, or "".
func RequestID(ctx context.Context) string {
	if known := RequestOf(ctx); known != nil {
		return known.ID
	}
	return ""
}

// CallerID returns the caller's own id of the request: Request.Caller.
func CallerID(ctx context.Context) string {
	if known := RequestOf(ctx); known != nil {
		return known.Caller
	}
	return ""
}

// Owned records the merchant of a request's credentials.
func Owned(ctx context.Context, merchant string) {
	if known := RequestOf(ctx); known != nil {
		known.Merchant = merchant
	}
}

// Used records the API key of a request.
func Used(ctx context.Context, key Key) {
	if known := RequestOf(ctx); known != nil {
		known.Key = key
	}
}

// Failed records with which error a request is answered; the last one counts.
func Failed(ctx context.Context, f Failure) {
	if known := RequestOf(ctx); known != nil {
		known.Failure = f
	}
}

// StatusLeft is the status of requests whose client left before the answer. Nobody gets it: it is for metrics and logs, in which
// such a request is no fault.
const StatusLeft = 499

// ClientLeft reports whether an error came about because the client has left.
func ClientLeft(ctx context.Context, err error) bool {
	return errors.Is(err, context.Canceled) && ctx.Err() != nil
}

// longestCallerID is the longest id of a caller that is logged.
const longestCallerID = 128

// Identify gives each request an id, which its reply carries as X-Request-Id. It does not
// use the caller's, because two requests could have the same.
func Identify(next http.Handler, newID func() string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known := &Request{ID: newID(), Caller: r.Header.Get("X-Request-Id")}
		unfit := func(c rune) bool { return c <= ' ' || c > '~' }
		if len(known.Caller) > longestCallerID || strings.ContainsFunc(known.Caller, unfit) || cardnumber.In(known.Caller) {
			known.Caller = ""
		}
		w.Header()["X-Request-Id"] = []string{known.ID}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, known)))
	})
}

// Routed serves requests with a mux, and records which pattern matched. If the mux passed a
// request to another mux, that one has recorded its pattern already. "/" is not a route: it
// matches what nothing else does.
func Routed(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { // also after a panic
			known := RequestOf(r.Context())
			if _, path, found := strings.Cut(r.Pattern, "/"); known != nil && found && path != "" && known.Route == "" {
				known.Route = "/" + path
			}
		}()
		mux.ServeHTTP(w, r)
	})
}
