package frame

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
)

// asks says whether a page or an action of the console asks for a second factor that was given just now.
type asks string

const (
	asUsual    asks = "" // actions do, pages do not
	never      asks = "never"
	beforehand asks = "beforehand"
)

// Calm is for an action of the console that shows no secret, and moves no money and lets none move.
func Calm() Serving { return func(s *serving) { s.asks = never } }

// Beforehand is for a page of the console with a long form: it asks before somebody types, and not after that.
func Beforehand() Serving { return func(s *serving) { s.asks = beforehand } }

func (a asks) afresh(method string) bool {
	return a == beforehand || a == asUsual && method != http.MethodGet
}

// formOf is the page that an action's form is on: the one with the action's own address, else the one above it.
func (s *Site) formOf(r *http.Request, route string) string {
	at := r.URL.Path
	if !slices.ContainsFunc(s.routes, func(other Route) bool { return other.Method == http.MethodGet && other.Path == route }) {
		at = path.Dir(at)
	}
	if id := r.FormValue("id"); id != "" {
		at += "?id=" + url.QueryEscape(id)
	}
	return at
}

// Fresh reports whether the user gave the second factor just now: what moves money out needs it (DASH-6). If
// not, the browser goes to the page that asks for it, and from there on to next: a page with its query, as
// Visit.Home has it.
func (s *Site) Fresh(w http.ResponseWriter, r *http.Request, v *Visit, next string) bool {
	if v.SignIn.Fresh(s.Uses.Now()) {
		return true
	}
	s.Go(w, r, s.At("/again")+"?next="+url.QueryEscape(next))
	return false
}

// Confirmed is like Fresh, but a user without a second factor must have signed in just now. It is for acts that would
// open a way around Fresh: whoever stole a cookie must not be able to give themselves a right, a key or a factor.
func (s *Site) Confirmed(w http.ResponseWriter, r *http.Request, v *Visit, next string) bool {
	if v.User.HasFactor() {
		return s.Fresh(w, r, v, next)
	}
	if v.SignIn.Recent(s.Uses.Now()) {
		return true
	}
	s.Go(w, r, s.At("/again/sign-in")+"?next="+url.QueryEscape(next))
	return false
}

// Prove takes the second factor of a user who is signed in, from a form that asks for it. The browser gets a
// new token.
//
// Errors: invalid_token, which names the field code; rate_limited.
func (s *Site) Prove(w http.ResponseWriter, r *http.Request, v *Visit, code string) error {
	return s.Try(w, r, v.User.ID, func(ctx context.Context) error {
		e, err := s.Uses.People.Prove(ctx, v.From(r), s.Token(r), code)
		if err == nil {
			s.SignedIn(w, e)
			v.SignIn = e.SignIn
		}
		return err
	})
}
