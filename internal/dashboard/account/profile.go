package account

import (
	"context"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"rsc.io/qr"
)

// profileView is the page of the user's own account.
type profileView struct {
	form
	User    people.User
	SignIns []people.SignIn
	Most    bool // the user has as many passkeys as there may be
}

func (a *account) profile(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return a.showProfile(w, r, v, http.StatusOK, form{Name: v.User.Name})
}

func (a *account) showProfile(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, f form) error {
	list, err := a.Uses.People.SignIns(r.Context(), v.User.ID)
	if err != nil {
		return err
	}
	f.Passkey = a.passkeyForm("add", "", "")
	return a.room.ShowStatus(w, r, v, status, "profile", profileView{f, v.User, list, len(v.User.Passkeys) >= people.MostPasskeys})
}

// wrongProfile shows the profile with what was wrong in one of its forms.
func (a *account) wrongProfile(w http.ResponseWriter, r *http.Request, v *frame.Visit, err error, name string) error {
	wrong := frame.FieldErrors(frame.Language(r, v), err)
	if wrong == nil {
		return err
	}
	return a.showProfile(w, r, v, http.StatusBadRequest, form{Name: name, Wrong: wrong})
}

func (a *account) introduce(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	name, language := r.FormValue("name"), merchants.Language(r.FormValue("language"))
	if !slices.Contains(merchants.Languages(), language) {
		return problem.Field(problem.InvalidRequest, "language", frame.UnknownLanguage)
	}
	if err := a.Uses.People.Introduce(r.Context(), v.User.ID, name, language); err != nil {
		return a.wrongProfile(w, r, v, err, name)
	}
	a.Flash(w, "saved")
	a.Go(w, r, a.At("/profile"))
	return nil
}

func (a *account) password(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if v.User.Password == "" && !a.fresh(w, r, v) { // there is no old password to type
		return nil
	}
	err := a.Try(w, r, v.User.ID, func(ctx context.Context) error {
		return a.Uses.People.SetPassword(ctx, v.From(r), v.SignIn, r.FormValue("old"), r.FormValue("password"))
	})
	if err != nil {
		return a.wrongProfile(w, r, v, err, v.User.Name)
	}
	a.Flash(w, "password_saved")
	a.Go(w, r, a.At("/profile"))
	return nil
}

// appView is the page to add an app for codes.
type appView struct {
	form
	Secret string
	QR     template.HTML
}

// appPage is the page to add an app for codes.
const appPage = "/profile/app"

func (a *account) newApp(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !a.freshFor(w, r, v, appPage) {
		return nil
	}
	secret, err := a.Uses.Factors.NewTOTP()
	if err != nil {
		return err
	}
	return a.showApp(w, r, v, http.StatusOK, secret, nil)
}

func (a *account) showApp(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, secret string, wrong map[string]string) error {
	code, err := qr.Encode(a.Uses.Factors.TOTPAddress(v.User, secret), qr.M)
	if err != nil {
		return err
	}
	return a.room.ShowStatus(w, r, v, status, "app", appView{form{Wrong: wrong, Old: asksOld(v.User)}, secret, drawn(code)})
}

// drawn is a QR code as SVG. The quiet zone is four modules wide.
func drawn(code *qr.Code) template.HTML {
	const quiet = 4
	var path strings.Builder
	for y := range code.Size {
		for x := range code.Size {
			if code.Black(x, y) {
				path.WriteString("M" + strconv.Itoa(x+quiet) + " " + strconv.Itoa(y+quiet) + "h1v1h-1z")
			}
		}
	}
	side := strconv.Itoa(code.Size + 2*quiet)
	return template.HTML(`<svg class="qr" viewBox="0 0 ` + side + ` ` + side + `" role="img" aria-label="QR"><rect width="100%" height="100%" fill="#fff"/><path d="` + path.String() + `" fill="#000"/></svg>`) //nolint:gosec // made of numbers
}

func (a *account) addApp(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !a.freshFor(w, r, v, appPage) { // whoever has a passkey must show it first
		return nil
	}
	n := users.NewApp{Secret: r.FormValue("secret"), Code: r.FormValue("code"), Password: r.FormValue("old")}
	var codes []string
	err := a.Try(w, r, v.User.ID, func(ctx context.Context) (err error) {
		codes, err = a.Uses.Factors.AddTOTP(ctx, v.From(r), v.SignIn, n)
		return err
	})
	if wrong := frame.FieldErrors(frame.Language(r, v), err); wrong != nil {
		return a.showApp(w, r, v, http.StatusBadRequest, n.Secret, wrong)
	}
	if err != nil {
		return err
	}
	return a.showCodes(w, r, v, codes)
}

// showCodes shows new recovery codes. They are shown once, so this is the answer to the POST itself.
func (a *account) showCodes(w http.ResponseWriter, r *http.Request, v *frame.Visit, codes []string) error {
	return a.room.Show(w, r, v, "codes", strings.Join(codes, "\n"))
}

// asksOld reports whether a form for a second factor asks for the password: it does for the first one.
func asksOld(u people.User) bool { return !u.HasFactor() && u.Password != "" }

// fresh reports whether the user may change credentials or end sign-ins now: see Site.Confirmed.
func (a *account) fresh(w http.ResponseWriter, r *http.Request, v *frame.Visit) bool {
	return a.Confirmed(w, r, v, frame.Base+"/profile")
}

// freshFor is fresh for a second factor that is added, and leads to its page. The form of the first one asks for the
// password instead.
func (a *account) freshFor(w http.ResponseWriter, r *http.Request, v *frame.Visit, next string) bool {
	return asksOld(v.User) || a.Confirmed(w, r, v, frame.Base+next)
}

func (a *account) dropApp(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !a.fresh(w, r, v) {
		return nil
	}
	if err := a.Uses.Factors.DropTOTP(r.Context(), v.From(r), v.SignIn); err != nil {
		return err
	}
	a.Flash(w, "app_removed")
	a.Go(w, r, a.At("/profile"))
	return nil
}

func (a *account) recovery(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !a.fresh(w, r, v) {
		return nil
	}
	codes, err := a.Uses.Factors.NewRecovery(r.Context(), v.From(r), v.SignIn)
	if err != nil {
		return err
	}
	return a.showCodes(w, r, v, codes)
}

func (a *account) endSignIn(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !a.fresh(w, r, v) {
		return nil
	}
	if err := a.Uses.People.EndSignIns(r.Context(), v.From(r).User(v.User.ID), v.User.ID, r.FormValue("id"), v.SignIn.ID); err != nil {
		return err
	}
	a.Flash(w, "sign_in_ended")
	a.Go(w, r, a.At("/profile"))
	return nil
}

// again asks a user for the second factor once more, before something that moves money out.
func (a *account) again(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !v.User.HasFactor() {
		return a.room.Show(w, r, v, "nofactor", form{Next: r.FormValue("next"), ways: ways{Passkey: a.passkeyForm("add", "", "")}})
	}
	return a.room.Show(w, r, v, "again", a.onceMore(r, v, nil))
}

// onceMore is the form of again.
func (a *account) onceMore(r *http.Request, v *frame.Visit, wrong map[string]string) form {
	f := form{Next: r.FormValue("next"), Email: v.User.Email, Wrong: wrong, ways: a.second(v.User)}
	if f.Passkey.Host != "" {
		f.Passkey = a.passkeyForm("prove", "/again/passkey", "/again/challenge")
	}
	return f
}

func (a *account) proveAgain(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	err := a.Prove(w, r, v, r.FormValue("code"))
	if wrong := frame.FieldErrors(frame.Language(r, v), err); wrong != nil {
		return a.room.ShowStatus(w, r, v, http.StatusUnauthorized, "again", a.onceMore(r, v, wrong))
	}
	if err != nil {
		return err
	}
	a.Go(w, r, a.Next(r))
	return nil
}
