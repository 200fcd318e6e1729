package frame

import (
	"context"
	"net/http"
	"net/url"
)

// Fresh reports whether the user gave the second factor just now: what moves money out needs it (DASH-6). If
// not, the browser goes to the page that asks for it, and from there on to next: a page with its query, as
// Visit.Home has it.
func (s *Site) Fresh(w http.ResponseWriter, r *http.Request, v *Visit, next string) bool {
	if v.SignIn.Fresh(s.App.Now()) {
		return true
	}
	s.Go(w, r, s.At("/again")+"?next="+url.QueryEscape(next))
	return false
}

// Confirmed is Fresh for users who have a second factor. It is for what opens a way around Fresh: whoever stole a
// cookie must not give a right, a key or a factor to themselves.
func (s *Site) Confirmed(w http.ResponseWriter, r *http.Request, v *Visit, next string) bool {
	return !v.User.HasFactor() || s.Fresh(w, r, v, next)
}

// Prove takes the second factor of a user who is signed in, from a form that asks for it. The browser gets a
// new token.
//
// Errors: invalid_token, which names the field code; rate_limited.
func (s *Site) Prove(w http.ResponseWriter, r *http.Request, v *Visit, code string) error {
	return s.Try(w, r, v.User.ID, func(ctx context.Context) error {
		e, err := s.App.People.Prove(ctx, v.From(r), s.Token(r), code)
		if err == nil {
			s.SignedIn(w, e)
			v.SignIn = e.SignIn
		}
		return err
	})
}
