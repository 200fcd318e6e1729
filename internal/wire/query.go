package wire

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/near"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// StrictParam asks the merchants' API to ignore nothing that the caller sends.
const StrictParam = "strict"

// mostNames is how many wrong parameters are reported, mostParams how many a query string may have: each is compared with many words.
const mostNames, mostParams = 20, 200

// OwnKey marks the metadata of an operation that a shop may send fields of its own with. The bodies and the parameters of all others that
// change something are closed.
const OwnKey = "own"

// The values of OwnKey. A body under OwnRefused is closed, but has parts of one under OwnIgnored, whose schemas are open.
const (
	OwnIgnored = "ignored"
	OwnRefused = "refused"
)

// CheckQuery checks a query string before any parameter is read: names, parameters sent twice (only one of
// which would be read), and booleans (ERR-29). Every name of a list's query must be known (ERR-30): a filter under another name
// would list what nobody asked for, and a page under another name the first one for ever. So must every name where something changes
// or an amount is asked about, and all names in strict mode, set by the caller or by the query itself (StrictParam). Otherwise an unknown
// name is ignored, and returned, unless it is a typo or may mean something that decides about money. inBody reports whether the body has
// a field of that name.
//
// Errors: invalid_request.
func CheckQuery(op *huma.Operation, query string, strict bool, inBody func(name string) bool) (bool, []string, error) {
	sent, err := url.ParseQuery(query)
	if query == "" || err != nil { // Mux refuses unreadable query strings
		return strict, nil, err
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
	list := slices.Contains(known, "limit")
	own := op.Metadata[OwnKey] == OwnIgnored
	closed := list || !own && op.Method != http.MethodGet || slices.Contains(known, "amount")
	if len(sent) > mostParams {
		return strict, nil, message.Refusal(problem.InvalidRequest, fmt.Sprintf("the query string has more than %d parameters: leave out what is not ours", mostParams))
	}
	var issues []Issue
	var ignored []string
	bad := func(name, message string) { issues = append(issues, Issue{Path: name, Message: message}) }
	for _, as := range slices.Sorted(maps.Keys(sent)) {
		if len(issues) == mostNames {
			break
		}
		values, typo, meant, name := sent[as], near.Typo(as, known), near.Meant(as, known), clip(as)
		switch {
		case slices.Contains(known, name):
			if len(values) > 1 { // none of them is a list
				bad(name, fmt.Sprintf("%s is sent %d times: send it once, one value a call", name, len(values)))
			} else if v := values[0]; slices.Contains(flags, name) && v != "" && v != "true" && v != "false" {
				bad(name, OneOf(name, v, []string{"true", "false"}))
			}
		case inBody(as):
			bad(name, fmt.Sprintf("%s is no query parameter here: send it in the body, {%q: …}", name, name))
		case list && slices.Contains(known, otherParams[name]):
			bad(name, fmt.Sprintf("there is no query parameter %s: did you mean %s?", name, otherParams[name]))
		case typo != "" || (strict || closed) && meant != "":
			bad(name, fmt.Sprintf("there is no query parameter %s: did you mean %s?", name, meant))
		case strict && len(known) == 0:
			bad(name, fmt.Sprintf("there is no query parameter %s: leave it out; there is none here", name))
		case strict || closed:
			bad(name, fmt.Sprintf("there is no query parameter %s: leave it out; this one takes %s", name, strings.Join(known, ", ")))
		case own && decides(as):
			bad(name, fmt.Sprintf("there is no query parameter %s, and it could be meant to decide about the money: send fields in the body, and leave this out", name))
		default:
			ignored = append(ignored, as)
		}
	}
	return strict, ignored, Invalid(issues...)
}

// otherParams are names that other APIs have for a list's parameters.
var otherParams = map[string]string{
	"page": "offset", "p": "offset", "skip": "offset", "start": "offset", "page_number": "offset", "pageNumber": "offset", "pageToken": "startingAfter", "page_token": "startingAfter",
	"cursor": "startingAfter", "after": "startingAfter", "next": "startingAfter", "next_cursor": "startingAfter", "starting_from": "startingAfter",
	"per_page": "limit", "perPage": "limit", "pageSize": "limit", "page_size": "limit", "size": "limit", "count": "limit", "take": "limit", "max": "limit", "rows": "limit",
	"since": "from", "created_after": "from", "createdAfter": "from", "start_date": "from", "startDate": "from", "date_from": "from", "begin": "from", "desde": "from", "created[gte]": "from", "created[gt]": "from",
	"until": "to", "created_before": "to", "createdBefore": "to", "end_date": "to", "endDate": "to", "date_to": "to", "end": "to", "hasta": "to", "created[lte]": "to", "created[lt]": "to",
	"q": "search", "query": "search", "state": "status", "estado": "status",
}

// unstorable refuses parameters with text that PostgreSQL cannot store.
//
// Errors: invalid_request.
func unstorable(values url.Values) error {
	var issues []Issue
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.ContainsFunc(append(values[name], name), func(text string) bool { return !utf8.ValidString(text) || strings.ContainsRune(text, 0) }) {
			name = strings.ToValidUTF8(name, "?")
			issues = append(issues, Issue{Path: name, Message: name + " must be UTF-8 without NUL characters"})
		}
	}
	return Invalid(issues...)
}

// Mux is where Huma registers its endpoints, so that their query strings are read as net/url reads them.
// Huma ignores unreadable parts, and reads a name without a value as "true": it would list what nobody
// asked for.
type Mux struct {
	*http.ServeMux
	Refuse func(http.ResponseWriter, *http.Request, error)
}

// HandleFunc implements humago.Mux. It refuses an unreadable query string, and a card's number (cardIn), with invalid_request; in
// "?status&limit=5" the status is empty.
func (m Mux) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	m.ServeMux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		var values url.Values
		if r.URL.RawQuery != "" {
			var err error
			values, err = url.ParseQuery(r.URL.RawQuery)
			if err != nil {
				m.Refuse(w, r, message.Refusal(problem.InvalidRequest, "the query string cannot be read: % is written as %25 in it, and ; as %3B"))
				return
			}
			if err := unstorable(values); err != nil {
				m.Refuse(w, r, err)
				return
			}
			if slices.ContainsFunc(strings.Split(r.URL.RawQuery, "&"), func(part string) bool { return part != "" && !strings.Contains(part, "=") }) {
				address := *r.URL
				address.RawQuery = values.Encode()
				r = r.WithContext(r.Context()) // a copy: the server owns the request
				r.URL = &address
			}
		}
		if err := cardIn(r, values); err != nil {
			m.Refuse(w, r, err)
			return
		}
		handler(w, r)
	})
}
