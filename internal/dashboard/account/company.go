package account

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// companyCookie is the name of the cookie of a sign-in at the company's identity provider. The provider sends the
// browser back from another site, so the cookie is Lax: a Strict one would not be sent then.
const companyCookie = "company"

// toCompany leads to the company's identity provider. It is a link: the policy of pages lets no form lead to another
// site.
func (a *account) toCompany(w http.ResponseWriter, r *http.Request, _ *frame.Visit) error {
	address, encrypted, err := a.Uses.Company.Ask(r.Context(), r.FormValue("next"))
	if err != nil {
		return a.companyFailed(w, r, err, r.FormValue("next"))
	}
	a.Keep(w, companyCookie, encrypted, int(users.CompanyLife.Seconds()), http.SameSiteLaxMode)
	a.Go(w, r, address)
	return nil
}

// fromCompany is where the identity provider sends the browser back to.
func (a *account) fromCompany(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	encrypted := a.ReadOnce(w, r, companyCookie, http.SameSiteLaxMode)
	var (
		e    users.Entered
		next string
	)
	err := a.Try(w, r, "company "+v.Address, func(ctx context.Context) (err error) {
		e, next, err = a.Uses.Company.Enter(ctx, v.From(r), encrypted, r.FormValue("state"), r.FormValue("code"), a.Language(r))
		return err
	})
	if err != nil {
		return a.companyFailed(w, r, err, next)
	}
	r.Form = url.Values{"next": {next}} // the one from before, not one in an address that anybody could write
	a.entered(w, r, e)
	return nil
}

// companyFailed shows the page to sign in, with what was wrong.
func (a *account) companyFailed(w http.ResponseWriter, r *http.Request, err error, next string) error {
	shown, ok := errors.AsType[*problem.Error](err)
	if !ok || shown.Code == problem.NotFound || shown.Code == problem.RateLimited {
		return err
	}
	return a.room.ShowStatus(w, r, nil, message.ShownOf(shown.Code).Status, "signin", form{Next: next, Error: frame.ErrorText(frame.Language(r, nil), shown), ways: a.openly()})
}
