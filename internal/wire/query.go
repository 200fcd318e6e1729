package wire

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/pay/problem"
)

// unstorable refuses parameters with text that PostgreSQL does not take.
//
// Errors: invalid_request.
func unstorable(values url.Values) error {
	var issues []problem.Issue
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.ContainsFunc(append(values[name], name), func(text string) bool { return !utf8.ValidString(text) || strings.ContainsRune(text, 0) }) {
			name = strings.ToValidUTF8(name, "?")
			issues = append(issues, problem.Issue{Path: name, Message: name + " must be UTF-8 without NUL characters"})
		}
	}
	return problem.Invalid(issues...)
}

// Mux is where Huma registers its endpoints, so that their query strings are read as net/url
// reads them. Huma takes what it cannot read for nothing, and a name without a value for
// "true": it would list what nobody asked for.
type Mux struct {
	*http.ServeMux
	Refuse func(http.ResponseWriter, *http.Request, error)
}

// HandleFunc is for humago.Mux. A request whose query string cannot be read is refused with
// invalid_request; in "?status&limit=5" the status is empty.
func (m Mux) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	m.ServeMux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "" {
			values, err := url.ParseQuery(r.URL.RawQuery)
			if err != nil {
				m.Refuse(w, r, problem.New(problem.InvalidRequest, "the query string cannot be read: % is written as %25 in it, and ; as %3B"))
				return
			}
			if err := unstorable(values); err != nil {
				m.Refuse(w, r, err)
				return
			}
			if slices.ContainsFunc(strings.Split(r.URL.RawQuery, "&"), func(part string) bool { return part != "" && !strings.Contains(part, "=") }) {
				address := *r.URL
				address.RawQuery = values.Encode()
				r = r.WithContext(r.Context()) // a copy: the request is the server's
				r.URL = &address
			}
		}
		handler(w, r)
	})
}
