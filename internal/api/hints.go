package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/near"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/printable"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

// notNumber says that an amount is not a number, and quotes it.
func notNumber(text string) string {
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		v = text
	}
	return "amount must be a number, such as 49.90, without quotes; you sent " + wire.Quoted(v)
}

// longestAmount is how much of an amount is quoted.
const longestAmount = 30

func clip(text string) string {
	if len(text) > longestAmount {
		return text[:longestAmount] + "…"
	}
	return text
}

// isNumber reports whether the text of an amount is a JSON number.
func isNumber(text string) bool { return strings.Trim(text[:1], "-0123456789") == "" }

// ownNames are the names of countries in their own languages.
var ownNames = map[string]string{
	"brasil": "BR", "méxico": "MX", "perú": "PE", "panamá": "PA", "haití": "HT", "república dominicana": "DO", "estados unidos": "US", "usa": "US",
	"united states of america": "US", "uk": "GB", "great britain": "GB", "england": "GB", "españa": "ES", "belice": "BZ",
}

// countryIssue says that a text is not a country code, and suggests the likely one.
func countryIssue(field, text string) string {
	message := field + " must be an ISO 3166 code of two or three letters, such as BR or BRA"
	wanted := strings.ToLower(strings.TrimSpace(text))
	var names []string
	byName := map[string]geo.Country{}
	for _, c := range geo.All() {
		name := strings.ToLower(c.Name)
		names, byName[name] = append(names, name), c
	}
	for name, code := range ownNames {
		byName[name], _ = geo.Parse(code)
		names = append(names, name)
	}
	c, found := byName[wanted]
	if slices.Sort(names); !found && len(wanted) > 3 {
		c, found = byName[near.Typo(wanted, names)], true
	}
	if !found || c.Alpha2 == "" {
		return message
	}
	return fmt.Sprintf("%s; %s is %s or %s", message, c.Name, c.Alpha2, c.Alpha3)
}

const (
	urlIssue = "returnUrl must be an absolute http or https URL, such as https://shop.example/thanks"
	// returnIssue is urlIssue where a shop may have apps too.
	returnIssue = urlIssue + ", or the address of an app whose scheme the shop registered, such as com.example.shop://thanks"
	emailIssue  = " must be an e-mail address, such as ana@example.com"
)

var keyIssue = fmt.Sprintf("Idempotency-Key must have 1 to %d printable characters: send a UUID, for one", pay.MaxIdempotencyKey)

// send says which credentials an endpoint wants, and what was sent instead.
func send(header http.Header) string {
	const want = "send the header Authorization: Bearer, and after it a secret key (sk_test_… or sk_live_…) or an access token of POST /auth/token"
	scheme, _, _ := strings.Cut(strings.TrimSpace(header.Get("Authorization")), " ")
	switch {
	case strings.EqualFold(scheme, "Basic"):
		return want + "; Basic is not taken"
	case strings.HasPrefix(scheme, "sk_"), strings.HasPrefix(scheme, "pk_"), strings.HasPrefix(scheme, "rk_"), strings.Count(scheme, ".") == 2:
		return want + "; the word Bearer is missing in front of yours"
	case strings.EqualFold(scheme, "Bearer"):
		return want + "; nothing follows the word Bearer"
	case scheme != "":
		return want + "; only Bearer is taken"
	}
	for _, name := range []string{"X-Api-Key", "Api-Key", "X-Auth-Token", "X-Access-Token"} {
		if header.Get(name) != "" {
			return want + "; the header " + name + " is not read"
		}
	}
	return want
}

// endpoint is a path with its methods.
type endpoint struct {
	path    string // as it is registered, without Base
	methods []string
}

// endpoints lists all endpoints, sorted by path.
func (a *API) endpoints() (all []endpoint) {
	paths := a.huma.OpenAPI().Paths
	for path, item := range paths {
		e := endpoint{path: path}
		for method, op := range map[string]*huma.Operation{
			http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete, http.MethodPut: item.Put,
		} {
			if op != nil {
				e.methods = append(e.methods, method)
			}
		}
		slices.Sort(e.methods)
		all = append(all, e)
	}
	slices.SortFunc(all, func(x, y endpoint) int { return strings.Compare(x.path, y.path) })
	return all
}

// fits reports whether a path matches the endpoint's pattern.
func (e endpoint) fits(path string) bool {
	want, have := strings.Split(e.path, "/"), strings.Split(path, "/")
	if len(want) != len(have) {
		return false
	}
	for i := range want {
		if want[i] != have[i] && (!strings.HasPrefix(want[i], "{") || have[i] == "") {
			return false
		}
	}
	return true
}

// longestPath is how much of a path is searched for the likely endpoint.
const longestPath = 200

// lost suggests the right endpoint for a request that matches none.
func (a *API) lost(r *http.Request) *problem.Error {
	const none = "there is no such endpoint"
	reference := none + ": look it up in the API reference, GET /docs"
	path := r.URL.Path
	if len(path) > longestPath || strings.ContainsFunc(path, printable.Unprintable) {
		return message.Refusal(problem.NotFound, reference)
	}
	rest, based := strings.CutPrefix(path, Base)
	if !based {
		rest = strings.TrimPrefix(strings.TrimPrefix(path, "/api"), "/v1")
	}
	all := a.endpoints()
	if strings.Contains(rest, "//") { // a variable was empty
		filled := strings.TrimRight(strings.ReplaceAll(rest, "//", "/id/"), "/")
		if i := slices.IndexFunc(all, func(e endpoint) bool { return strings.Contains(e.path, "{") && e.fits(filled) }); i >= 0 {
			return message.Refusal(problem.NotFound, none+": the id between the slashes is empty: the address is "+Base+all[i].path+" ("+strings.Join(all[i].methods, ", ")+")")
		}
	}
	for strings.Contains(rest, "//") {
		rest = strings.ReplaceAll(rest, "//", "/")
	}
	rest = "/" + strings.Trim(rest, "/")
	meant := slices.IndexFunc(all, func(e endpoint) bool { return e.fits(rest) })
	if meant < 0 {
		return message.Refusal(problem.NotFound, nearest(none, reference, rest, all))
	}
	why := "the address is " + Base + rest
	switch {
	case !based:
		why = "all addresses begin with " + Base + ": the address is " + Base + rest
	case strings.HasSuffix(path, "/"):
		why = "the path ends with a slash: the address is " + Base + rest
	}
	return message.Refusal(problem.NotFound, none+": "+why+" ("+strings.Join(all[meant].methods, ", ")+")")
}

// nearest names the endpoint whose first words were misspelt.
func nearest(none, reference, rest string, all []endpoint) string {
	var fixed []string
	for _, e := range all {
		fixed = append(fixed, strings.Trim(strings.Split(e.path, "/{")[0], "/"))
	}
	words := strings.Split(strings.Trim(rest, "/"), "/")
	for n := len(words); n > 0; n-- { // the longest part that resembles one of ours
		first := strings.Join(words[:n], "/")
		meant := near.Meant(first, fixed)
		if slices.Contains(fixed, first) {
			meant = first
		}
		if meant == "" {
			continue
		}
		var some []string
		for _, e := range all {
			if strings.HasPrefix(e.path+"/", "/"+meant+"/") {
				some = append(some, strings.Join(e.methods, ", ")+" "+Base+e.path)
			}
		}
		if len(some) > 0 {
			return none + ": did you mean " + strings.Join(some[:min(4, len(some))], "; or ") + "? The API reference is GET /docs"
		}
	}
	return reference
}

// wrongMethod lists the methods of an endpoint.
func (a *API) wrongMethod(w http.ResponseWriter, r *http.Request) *problem.Error {
	return message.Refusal(problem.MethodNotAllowed, "this endpoint does not take "+r.Method+": it takes "+w.Header().Get("Allow"))
}
