package wire

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/near"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// StrictParam is how a caller of the merchants' API asks that nothing he sends is ignored.
const StrictParam = "strict"

// mostNames is how many unknown parameters are told of, and longestName how long they are.
const mostNames, longestName = 20, 64

// CheckQuery looks at a query string before any parameter is read from it: at their names, whether
// one is sent twice, of which one would be read, and at what is true or false (ERR-29). Where
// nothing is to be ignored, or it says so itself (StrictParam), every name has to be known. Else one
// that is not is ignored, but for a slip of the pen, which would list what nobody asked for. inBody
// reports whether a name is that of a field of the body.
//
// Errors: invalid_request.
func CheckQuery(op *huma.Operation, query string, strict bool, inBody func(name string) bool) (bool, error) {
	sent, err := url.ParseQuery(query)
	if query == "" || err != nil { // Mux has refused what cannot be read
		return strict, err
	}
	var known, flags []string
	if !strict {
		known, flags = []string{StrictParam}, []string{StrictParam}
		strict = sent.Get(StrictParam) == "true"
	}
	for _, p := range op.Parameters {
		if p.In == "query" {
			known = append(known, p.Name)
		}
		if p.Schema != nil && p.Schema.Type == huma.TypeBoolean {
			flags = append(flags, p.Name)
		}
	}
	// Of a list one gets more than was asked for where a filter goes by another name, as of a field of its rows.
	list := slices.Contains(known, "limit")
	var issues []problem.Issue
	bad := func(name, message string) { issues = append(issues, problem.Issue{Path: name, Message: message}) }
	for _, name := range tellable(sent) {
		values, typo, meant := sent[name], near.Typo(name, known), near.Meant(name, known)
		switch {
		case slices.Contains(known, name):
			if len(values) > 1 { // none of them is a list
				bad(name, fmt.Sprintf("%s is sent %d times: send it once, one value a call", name, len(values)))
			} else if v := values[0]; slices.Contains(flags, name) && v != "" && v != "true" && v != "false" {
				bad(name, OneOf(name, v, []string{"true", "false"}))
			}
		case inBody(name):
			bad(name, fmt.Sprintf("%s is no query parameter here: send it in the body, {%q: …}", name, name))
		case typo != "" || (strict || list) && meant != "":
			bad(name, fmt.Sprintf("there is no query parameter %s: did you mean %s?", name, meant))
		case strict && len(known) == 0:
			bad(name, fmt.Sprintf("there is no query parameter %s: leave it out; there is none here", name))
		case strict:
			bad(name, fmt.Sprintf("there is no query parameter %s: leave it out; there are %s", name, strings.Join(known, ", ")))
		}
	}
	return strict, problem.Invalid(issues...)
}

// tellable are the names of parameters that can be told back, sorted.
func tellable(sent url.Values) (names []string) {
	for name := range sent {
		if len(name) <= longestName && !strings.ContainsFunc(name, problem.Unprintable) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(mostNames, len(names))]
}

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
