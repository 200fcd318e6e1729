// Package account is the dashboard's pages about the user: to sign in and out, to accept an invitation, the
// profile with its second factors and sign-ins.
package account

import (
	"context"
	"embed"
	"errors"
	"net/http"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

//go:embed all:templates text
var files embed.FS

type account struct {
	*frame.Site
	Uses Uses
	room *frame.Pages
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	room, err := site.NewPages(files)
	if err != nil {
		return err
	}
	a := &account{site, uses, room}
	site.HandleOwn("GET /", a.start)
	site.HandleOpen("GET /sign-in", a.signIn)
	site.HandleOpen("POST /sign-in", a.enter)
	site.HandleOpen("GET /sign-in/code", a.code)
	site.HandleOpen("POST /sign-in/code", a.prove)
	site.HandleOpen("POST /sign-in/passkey", a.enterByPasskey)
	site.HandleOpen("POST /sign-in/passkey/challenge", a.askAny)
	site.HandleOpen("POST /sign-in/code/passkey", a.proveByPasskey)
	site.HandleOpen("POST /sign-in/code/challenge", a.askWaiting)
	site.HandleOpen("GET /sign-in/company", a.toCompany)
	site.HandleOpen("GET /sign-in/company/back", a.fromCompany)
	site.HandleOpen("GET /forgot", a.forgot)
	site.HandleOpen("POST /forgot", a.send)
	site.HandleOpen("GET /link/{token}", a.link)
	site.HandleOpen("POST /link/{token}", a.follow)
	site.HandleOpen("POST /sign-out", a.signOut)
	site.HandleOwn("GET /profile", a.profile)
	site.HandleOwn("POST /profile", a.introduce)
	site.HandleOwn("POST /profile/password", a.password)
	site.HandleOwn("GET /profile/app", a.newApp)
	site.HandleOwn("POST /profile/app", a.addApp)
	site.HandleOwn("POST /profile/app/remove", a.dropApp)
	site.HandleOwn("GET /profile/passkeys/new", a.newPasskey)
	site.HandleOwn("POST /profile/passkeys", a.addPasskey)
	site.HandleOwn("POST /profile/passkeys/challenge", a.askNew)
	site.HandleOwn("POST /profile/passkeys/remove", a.dropPasskey)
	site.HandleOwn("POST /profile/recovery", a.recovery)
	site.HandleOwn("POST /profile/sign-ins/end", a.endSignIn)
	site.HandleOwn("GET /again", a.again)
	site.HandleOwn("GET /again/sign-in", a.oldSignIn)
	site.HandleOwn("POST /again/sign-in", a.signInAgain)
	site.HandleOwn("POST /again", a.proveAgain)
	site.HandleOwn("POST /again/passkey", a.proveAgainByPasskey)
	site.HandleOwn("POST /again/challenge", a.askAgain)
	return nil
}

// start leads to the user's first shop, or to the operator's console.
func (a *account) start(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	list, err := a.Uses.People.Tenancies(r.Context(), v.User.ID)
	switch {
	case err != nil:
		return err
	case len(list) > 0:
		a.Go(w, r, a.At("/"+list[0].Shop.ID+"/"+string(a.usual(list[0].Role, list[0].Merchant))))
	case v.User.Operator != "" && v.NoConsole:
		a.Go(w, r, a.At("/profile"))
	case v.User.Operator != "":
		a.Go(w, r, a.At("/console"))
	default:
		return a.room.Show(w, r, v, "nothing", nil)
	}
	return nil
}

// usual is the environment that a role opens first at a merchant.
func (a *account) usual(r people.Role, m merchants.Merchant) merchants.Environment {
	if (r == people.Developer || !a.Secure()) && !m.SandboxOff && !a.Uses.NoSandbox {
		return merchants.Sandbox
	}
	return merchants.Production
}

// form is what a page with a form shows.
type form struct {
	Next  string
	Email string
	Name  string
	Wrong map[string]string // by field
	Error string            // of the whole form
	Old   bool              // the form asks for the present password
	ways
}

// ways are the other ways to sign in, or to give the second factor.
type ways struct {
	Passkey passkeyForm
	Codes   bool   // the user has an app for codes
	Company bool   // there is a company's identity provider
	Button  string // what the button to it says, "" for the usual text
}

// openly are the ways to sign in.
func (a *account) openly() ways {
	return ways{Passkey: a.passkeyForm("sign-in", "/sign-in/passkey", "/sign-in/passkey/challenge"), Company: a.Uses.Company.On(), Button: a.Uses.Company.Name()}
}

// second are the ways to give the second factor of a sign-in that waits for it.
func (a *account) second(u people.User) ways {
	w := ways{Codes: u.TOTP.Secret != ""}
	if len(u.Passkeys) > 0 {
		w.Passkey = a.passkeyForm("prove", "/sign-in/code/passkey", "/sign-in/code/challenge")
	}
	return w
}

// failed shows a form again, with what was wrong, or returns an error that is not the visitor's fault.
func (a *account) failed(w http.ResponseWriter, r *http.Request, v *frame.Visit, page string, err error, f form) error {
	shown, ok := errors.AsType[*problem.Error](err)
	if !ok || shown.Code == problem.ServiceUnavailable {
		return err
	}
	status := message.ShownOf(shown.Code).Status
	if f.Wrong = frame.FieldErrors(frame.Language(r, v), err); f.Wrong == nil {
		f.Error = frame.ErrorText(frame.Language(r, v), shown)
	}
	return a.room.ShowStatus(w, r, v, status, page, f)
}

func (a *account) signIn(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	_, _, err := a.Uses.People.Known(r.Context(), a.Token(r))
	if err == nil {
		a.Go(w, r, a.Next(r))
		return nil
	}
	if !errors.Is(err, users.ErrSignedOut) {
		return err
	}
	return a.room.Show(w, r, nil, "signin", form{Next: r.FormValue("next"), ways: a.openly()})
}

func (a *account) enter(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	email := r.FormValue("email")
	var e users.Entered
	err := a.Try(w, r, email, func(ctx context.Context) (err error) {
		e, err = a.Uses.People.Enter(ctx, v.From(r), email, r.FormValue("password"))
		return err
	})
	if err != nil {
		return a.failed(w, r, nil, "signin", err, form{Next: r.FormValue("next"), Email: email, ways: a.openly()})
	}
	a.entered(w, r, e)
	return nil
}

// entered keeps a new sign-in and leads on: to the second factor if it waits for one.
func (a *account) entered(w http.ResponseWriter, r *http.Request, e users.Entered) {
	a.SignedIn(w, e)
	if e.SignIn.Waiting {
		a.Go(w, r, a.At("/sign-in/code")+a.Carry(r))
		return
	}
	a.Go(w, r, a.Next(r))
}

// waiting is the visit of a browser whose sign-in waits for the second factor.
func (a *account) waiting(r *http.Request) (people.User, error) {
	s, u, err := a.Uses.People.Known(r.Context(), a.Token(r))
	if err == nil && !s.Waiting {
		err = users.ErrSignedOut
	}
	return u, err
}

func (a *account) code(w http.ResponseWriter, r *http.Request, _ *frame.Visit) error {
	u, err := a.waiting(r)
	if errors.Is(err, users.ErrSignedOut) {
		a.Go(w, r, a.At("/sign-in")+a.Carry(r))
		return nil
	}
	if err != nil {
		return err
	}
	return a.room.Show(w, r, nil, "code", form{Next: r.FormValue("next"), Email: u.Email, ways: a.second(u)})
}

func (a *account) prove(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	u, err := a.waiting(r)
	if errors.Is(err, users.ErrSignedOut) {
		a.Go(w, r, a.At("/sign-in")+a.Carry(r))
		return nil
	}
	if err != nil {
		return err
	}
	var e users.Entered
	err = a.Try(w, r, u.ID, func(ctx context.Context) (err error) {
		e, err = a.Uses.People.Prove(ctx, v.From(r), a.Token(r), r.FormValue("code"))
		return err
	})
	if err != nil {
		return a.failed(w, r, nil, "code", err, form{Next: r.FormValue("next"), Email: u.Email, ways: a.second(u)})
	}
	a.entered(w, r, e)
	return nil
}

func (a *account) signOut(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return a.leave(w, r, v, "/sign-in")
}

// leave signs the browser out, and leads to a page.
func (a *account) leave(w http.ResponseWriter, r *http.Request, v *frame.Visit, to string) error {
	if err := a.Uses.People.Leave(r.Context(), v.From(r), a.Token(r)); err != nil {
		return err
	}
	a.SignedOut(w)
	a.Go(w, r, a.At(to))
	return nil
}

// oldSignIn asks a user who has no second factor to sign in again.
func (a *account) oldSignIn(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return a.room.Show(w, r, v, "oldsignin", form{Next: r.FormValue("next")})
}

func (a *account) signInAgain(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return a.leave(w, r, v, "/sign-in"+a.Carry(r))
}

func (a *account) forgot(w http.ResponseWriter, r *http.Request, _ *frame.Visit) error {
	return a.room.Show(w, r, nil, "forgot", form{Email: r.FormValue("email")})
}

// send answers in the same way whether there is such a user or not.
func (a *account) send(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	email := r.FormValue("email")
	if err := a.Uses.Links.Forgot(r.Context(), v.From(r), email); err != nil {
		return a.failed(w, r, nil, "forgot", err, form{Email: email})
	}
	return a.room.Show(w, r, nil, "sent", form{Email: email})
}
