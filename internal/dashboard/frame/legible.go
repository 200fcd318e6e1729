package frame

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// legible removes text that PostgreSQL cannot store from a request's query, its form and the name of its browser. It
// refuses a form that is too large or did not arrive as a whole: pages would see it without some of its fields.
//
// Errors: not_found for an address that names nothing that is stored, invalid_request.
func legible(r *http.Request) error {
	if !base.Storable(r.URL.Path) {
		return problem.New(problem.NotFound, "there is no such page")
	}
	clean(url.Values{"": r.Header["User-Agent"]})
	if query := r.URL.Query(); clean(query) {
		r.URL.RawQuery = query.Encode()
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/x-www-form-urlencoded" {
		return nil
	}
	err := r.ParseForm()
	if _, beyond := errors.AsType[*http.MaxBytesError](err); beyond {
		return problem.New(problem.InvalidRequest, "this form is too large: shorten what you typed")
	}
	if err != nil {
		return problem.New(problem.InvalidRequest, "the form did not arrive as a whole: send it again")
	}
	clean(r.Form)
	clean(r.PostForm)
	return nil
}

// clean reports whether there was something to drop.
func clean(values url.Values) (dropped bool) {
	for _, list := range values {
		for i, text := range list {
			if !base.Storable(text) {
				list[i], dropped = strings.ReplaceAll(strings.ToValidUTF8(text, ""), "\x00", ""), true
			}
		}
	}
	return dropped
}
