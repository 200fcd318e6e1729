package account

import (
	"context"
	"net/http"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
)

// linkView is the page of a one-time link.
type linkView struct {
	form
	Kind     people.LinkKind
	Known    bool        // there is a user with this address
	Signed   bool        // that user is signed in here
	Merchant string      // name
	Role     people.Role // of an invitation
	Language merchants.Language
}

// linkPath is the address of a link's page.
func (a *account) linkPath(r *http.Request) string {
	return frame.Base + "/link/" + r.PathValue("token")
}

// findLink finds the link of a page, and whose it is.
func (a *account) findLink(r *http.Request) (linkView, people.User, error) {
	l, u, err := a.Uses.Links.Link(r.Context(), r.PathValue("token"))
	if err != nil {
		return linkView{}, u, err
	}
	view := linkView{Kind: l.Kind, Known: u.ID != "", Role: l.Role, form: form{Email: l.Email, Next: a.linkPath(r), ways: a.openly()}}
	if u.ID != "" {
		view.Email = u.Email
	}
	if l.Merchant != "" {
		m, err := a.Uses.AnyMerchant(r.Context(), l.Merchant)
		if err != nil {
			return view, u, err
		}
		view.Merchant = m.Name
	}
	s, current, err := a.Uses.People.Known(r.Context(), a.Token(r))
	view.Signed = err == nil && !s.Waiting && current.ID == u.ID
	return view, u, nil
}

func (a *account) link(w http.ResponseWriter, r *http.Request, _ *frame.Visit) error {
	view, _, err := a.findLink(r)
	if err != nil {
		return err
	}
	return a.room.Show(w, r, nil, "link", view)
}

// follow uses a link up.
func (a *account) follow(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view, u, err := a.findLink(r)
	if err != nil {
		return err
	}
	if view.Kind == people.Invitation && view.Known && !view.Signed {
		a.Go(w, r, a.At("/sign-in?next="+a.linkPath(r)))
		return nil
	}
	e, err := a.use(r, v, view, u)
	if err != nil {
		view.Name = r.FormValue("name")
		view.Wrong = frame.FieldErrors(frame.Language(r, v), err)
		if view.Wrong == nil {
			return err
		}
		return a.room.ShowStatus(w, r, nil, http.StatusBadRequest, "link", view)
	}
	if e.Token == "" { // the browser was signed in already
		a.Go(w, r, a.At(""))
		return nil
	}
	a.entered(w, r, e)
	return nil
}

func (a *account) use(r *http.Request, v *frame.Visit, view linkView, u people.User) (users.Entered, error) {
	ctx, from, token := context.WithoutCancel(r.Context()), v.From(r), r.PathValue("token")
	switch view.Kind {
	case people.SignInLink:
		return a.Uses.Links.SignInBy(ctx, from, token)
	case people.PasswordReset:
		return a.Uses.Links.Reset(ctx, from, token, r.FormValue("password"))
	}
	current := ""
	if view.Signed {
		current = u.ID
	}
	return a.Uses.Links.Accept(ctx, from, token, current, users.NewUser{
		Name: r.FormValue("name"), Password: r.FormValue("password"), Language: a.Language(r),
	})
}
