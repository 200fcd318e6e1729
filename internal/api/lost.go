package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/near"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/printable"
	"github.com/danielgtaylor/huma/v2"
)

// endpoint is a path with its methods.
type endpoint struct {
	path    string // as it is registered, without Base
	methods []string
}

// endpoints lists all endpoints, sorted by path.
func (a *API) endpoints() (all []endpoint) {
	paths := a.Huma.OpenAPI().Paths
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
