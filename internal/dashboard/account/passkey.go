package account

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// passkeyForm is a form that a passkey answers. Its script is frame/assets/passkey.js.
type passkeyForm struct {
	Kind      string // sign-in, prove or add
	Host      string // that the page must have; "": there are no passkeys here
	Elsewhere string // where to open the page if its host is an IP address, "" for nowhere
	Action    string // path of the form, below the dashboard
	Challenge string // path of the challenge
}

func (a *account) passkeyForm(kind, action, challenge string) passkeyForm {
	return passkeyForm{kind, a.Uses.Passkeys.Host(), a.Uses.Passkeys.Elsewhere(), frame.Base + action, frame.Base + challenge}
}

// challengeCookie is the name of the cookie of a challenge.
const challengeCookie = "passkey"

// ask sends a challenge: its options to the script, and the rest into the cookie.
func (a *account) ask(w http.ResponseWriter, c users.Challenge, err error) error {
	if err != nil {
		return err
	}
	a.Keep(w, challengeCookie, c.Encrypted, int(people.ChallengeLife.Seconds()), http.SameSiteStrictMode)
	text, err := json.Marshal(c.Options)
	if err != nil {
		return err
	}
	frame.Secure(w.Header())
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the visitor may have left
	return nil
}

// answered is the cookie of a challenge.
func (a *account) answered(w http.ResponseWriter, r *http.Request) string {
	return a.ReadOnce(w, r, challengeCookie, http.SameSiteStrictMode)
}

func (a *account) askAny(w http.ResponseWriter, _ *http.Request, _ *frame.Visit) error {
	c, err := a.Uses.Passkeys.ToSignIn()
	return a.ask(w, c, err)
}

func (a *account) enterByPasskey(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	encrypted := a.answered(w, r)
	var e users.Entered
	err := a.Try(w, r, "passkey "+v.Address, func(ctx context.Context) (err error) {
		e, err = a.Uses.Passkeys.SignIn(ctx, v.From(r), encrypted, r.FormValue("answer"))
		return err
	})
	if err != nil {
		return a.failed(w, r, nil, "signin", err, form{Next: r.FormValue("next"), ways: a.openly()})
	}
	a.entered(w, r, e)
	return nil
}

func (a *account) askWaiting(w http.ResponseWriter, r *http.Request, _ *frame.Visit) error {
	s, u, err := a.Uses.People.Known(r.Context(), a.Token(r))
	if err == nil && !s.Waiting {
		err = users.ErrSignedOut
	}
	if err != nil {
		return err
	}
	c, err := a.Uses.Passkeys.ToProve(s, u)
	return a.ask(w, c, err)
}

func (a *account) proveByPasskey(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	u, err := a.waiting(r)
	if errors.Is(err, users.ErrSignedOut) {
		a.Go(w, r, a.At("/sign-in")+a.Carry(r))
		return nil
	}
	if err != nil {
		return err
	}
	e, err := a.provedBy(w, r, v, u.ID)
	if err != nil {
		return a.failed(w, r, nil, "code", err, form{Next: r.FormValue("next"), Email: u.Email, ways: a.second(u)})
	}
	a.entered(w, r, e)
	return nil
}

// provedBy gives the second factor with the passkey that answered.
func (a *account) provedBy(w http.ResponseWriter, r *http.Request, v *frame.Visit, user string) (e users.Entered, err error) {
	encrypted := a.answered(w, r)
	err = a.Try(w, r, user, func(ctx context.Context) (err error) {
		e, err = a.Uses.Passkeys.Prove(ctx, v.From(r), a.Token(r), encrypted, r.FormValue("answer"))
		return err
	})
	return e, err
}

func (a *account) askAgain(w http.ResponseWriter, _ *http.Request, v *frame.Visit) error {
	c, err := a.Uses.Passkeys.ToProve(v.SignIn, v.User)
	return a.ask(w, c, err)
}

func (a *account) proveAgainByPasskey(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	e, err := a.provedBy(w, r, v, v.User.ID)
	if wrong := frame.FieldErrors(frame.Language(r, v), err); wrong != nil {
		return a.room.ShowStatus(w, r, v, http.StatusUnauthorized, "again", a.onceMore(r, v, wrong))
	}
	if err != nil {
		return err
	}
	a.SignedIn(w, e)
	a.Go(w, r, a.Next(r))
	return nil
}

// passkeyPage is the page to add a passkey.
const passkeyPage = "/profile/passkeys/new"

func (a *account) newPasskey(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !a.freshFor(w, r, v, passkeyPage) {
		return nil
	}
	return a.showPasskey(w, r, v, http.StatusOK, form{})
}

func (a *account) showPasskey(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, f form) error {
	f.Old = asksOld(v.User)
	f.Passkey = a.passkeyForm("add", "/profile/passkeys", "/profile/passkeys/challenge")
	return a.room.ShowStatus(w, r, v, status, "passkey", f)
}

// askNew is for the script of the page to add a passkey.
func (a *account) askNew(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !a.freshFor(w, r, v, passkeyPage) {
		return nil
	}
	c, err := a.Uses.Passkeys.ToAdd(v.SignIn, v.User)
	return a.ask(w, c, err)
}

func (a *account) addPasskey(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !a.freshFor(w, r, v, passkeyPage) {
		return nil
	}
	n := users.NewPasskey{Name: r.FormValue("name"), Encrypted: a.answered(w, r), Answer: r.FormValue("answer"), Password: r.FormValue("old")}
	var codes []string
	err := a.Try(w, r, v.User.ID, func(ctx context.Context) (err error) {
		codes, err = a.Uses.Passkeys.Add(ctx, v.From(r), v.SignIn, n)
		return err
	})
	if shown, ok := errors.AsType[*problem.Error](err); ok {
		f := form{Name: n.Name, Wrong: frame.FieldErrors(frame.Language(r, v), err)}
		if f.Wrong == nil {
			f.Error = frame.ErrorText(frame.Language(r, v), shown)
		}
		return a.showPasskey(w, r, v, message.ShownOf(shown.Code).Status, f)
	}
	if err != nil {
		return err
	}
	if codes != nil {
		return a.showCodes(w, r, v, codes)
	}
	a.Flash(w, "passkey_added")
	a.Go(w, r, a.At("/profile"))
	return nil
}

func (a *account) dropPasskey(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !a.fresh(w, r, v) {
		return nil
	}
	if err := a.Uses.Passkeys.Drop(r.Context(), v.From(r), v.SignIn, r.FormValue("id")); err != nil {
		return err
	}
	a.Flash(w, "passkey_removed")
	a.Go(w, r, a.At("/profile"))
	return nil
}
