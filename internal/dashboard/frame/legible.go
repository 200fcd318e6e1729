package frame

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/web"
)

// smallBody waits for a body of whom nobody has asked yet: it is small, and counted by address.
func (s *Site) smallBody(w http.ResponseWriter, r *http.Request) (leave func(), err error) {
	leave = s.gate.StrangersBody(w.Header(), r)
	return leave, s.arrive(w, r, web.Arrival{Most: web.SmallForm})
}

// bodyOf waits for the body of a request to a page that may permits. A large one, or one that does not say how large it is,
// is read only from whoever may open the page: it is counted by merchant or operator. The page asks again afterwards.
func (s *Site) bodyOf(may permit, how web.Arrival) func(http.ResponseWriter, *http.Request) (func(), error) {
	return func(w http.ResponseWriter, r *http.Request) (func(), error) {
		if r.ContentLength >= 0 && r.ContentLength <= web.SmallForm {
			return s.smallBody(w, r)
		}
		v, err := s.visit(r)
		if err != nil {
			w.Header().Set("Connection", "close") // or the server waits for the body
			return nil, s.askWho(w, r, err)
		}
		if err := may(r, v); err != nil {
			w.Header().Set("Connection", "close")
			return nil, s.shown(w, r, v, err)
		}
		var leave func()
		if v.Merchant.ID != "" {
			leave = s.gate.MerchantsBody(w.Header(), r, v.Principal)
		} else {
			leave = s.gate.OperatorsBody(w.Header(), r, v.User.ID)
		}
		return leave, s.arrive(w, r, how)
	}
}

// arrive waits for a body. One that is too large is the page's to refuse.
//
// Errors: rate_limited, invalid_request.
func (s *Site) arrive(w http.ResponseWriter, r *http.Request, how web.Arrival) error {
	_, err := web.Arrive(w, r, how)
	if _, long := errors.AsType[*http.MaxBytesError](err); long || err == nil {
		return nil
	}
	if shown, ok := errors.AsType[*problem.Error](err); ok {
		return shown
	}
	return problem.New(problem.InvalidRequest, FormIncomplete)
}

// legible removes text that PostgreSQL cannot store from a request's query and the name of its browser, and refuses a card's
// number.
//
// Errors: not_found for an address that names nothing that is stored; invalid_request for one with a card's number.
func legible(r *http.Request) error {
	if !base.Storable(r.URL.Path) {
		return problem.New(problem.NotFound, base.NoPage)
	}
	clean(url.Values{"": r.Header["User-Agent"]})
	if query := r.URL.Query(); clean(query) {
		r.URL.RawQuery = query.Encode()
	}
	return noCard(r)
}

// legibleForm does the same with a form that has arrived. It refuses one that is too large: pages would see it without some
// of its fields.
//
// Errors: invalid_request.
func legibleForm(r *http.Request) error {
	switch kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind {
	case "application/x-www-form-urlencoded":
	case "multipart/form-data":
		return noCardInParts(r)
	default:
		return nil
	}
	err := r.ParseForm()
	if _, beyond := errors.AsType[*http.MaxBytesError](err); beyond {
		return problem.New(problem.InvalidRequest, formTooLarge)
	}
	if err != nil {
		return problem.New(problem.InvalidRequest, FormIncomplete)
	}
	clean(r.Form)
	clean(r.PostForm)
	return noCardAmong(r.PostForm)
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
