package frame

import (
	"context"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// atConsole marks the requests that came to the console's own listener.
type atConsole struct{}

// Apart moves the operator's console to a listener of its own, and returns the handler for that listener. It has all
// pages, so that operators sign in and visit merchants there. Elsewhere the console does not exist any more. Call it
// before the first request.
func (s *Site) Apart() http.Handler {
	s.apart = true
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), atConsole{}, true)))
	})
}

// away reports whether the console is at another listener than the one that a request came to.
func (s *Site) away(r *http.Request) bool { return s.apart && r.Context().Value(atConsole{}) == nil }

// hidden answers a request for the console where it does not exist: with 404 to everybody, signed in or not.
func (s *Site) hidden(w http.ResponseWriter, r *http.Request) bool {
	if !s.away(r) || !ofConsole(r.URL.Path) {
		return false
	}
	s.Problem(w, r, nil, problem.New(problem.NotFound, base.NoPage))
	return true
}

// ofConsole reports whether a path is one of the console.
func ofConsole(path string) bool {
	return strings.HasPrefix(strings.TrimSuffix(path, "/")+"/", Base+"/console/")
}
