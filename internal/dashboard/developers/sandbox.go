package developers

import (
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/view"
)

// sandboxView is the page of the sandbox.
type sandboxView struct {
	frame.Mistakes
	Now     time.Time // by the test clock
	Days    int64     // that it is ahead, and
	Hours   int64
	Moved   bool
	Strict  bool
	Advance string // what was typed
	Confirm string
	Reset   merchants.Reset // the one that runs, or the last one
}

func (d *developers) sandbox(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if v.Live { // the switch of environments leads here
		d.Go(w, r, d.Root+v.Home())
		return nil
	}
	return d.showSandbox(w, r, v, http.StatusOK, sandboxView{})
}

func (d *developers) showSandbox(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, shown sandboxView) error {
	m, err := d.Uses.Sandbox.Settings(r.Context(), v.Principal)
	if err != nil {
		return err
	}
	clock, now, err := d.Uses.Sandbox.Clock(r.Context(), v.Scope)
	if err != nil {
		return err
	}
	if shown.Reset, err = d.Uses.Sandbox.ResetOf(r.Context(), v.Merchant.ID); err != nil {
		return err
	}
	shown.Strict, shown.Now, shown.Moved = m.Strict, now.UTC(), clock.Advance > 0
	shown.Days, shown.Hours = int64(clock.Advance/(24*time.Hour)), int64(clock.Advance%(24*time.Hour)/time.Hour)
	return d.room.ShowStatus(w, r, v, status, "sandbox", shown)
}

func (d *developers) moveClock(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	by, ok := merchants.ParseDuration(r.FormValue("advance"))
	err := error(message.FieldRefusal(problem.InvalidRequest, "advance", d.room.Text(v, "not_a_duration")))
	if ok {
		_, _, err = d.Uses.Sandbox.MoveClock(r.Context(), v.Principal, by)
	}
	if err == nil {
		return d.Done(w, r, v, "sandbox", "clock_moved")
	}
	wrong, status, err := frame.MistakesOf(v, err)
	if err != nil {
		return err
	}
	return d.showSandbox(w, r, v, status, sandboxView{Mistakes: wrong, Advance: r.FormValue("advance")})
}

func (d *developers) setStrict(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	strict := r.FormValue("strict") == "true"
	if _, err := d.Uses.Sandbox.SetSandbox(r.Context(), v.Principal, strict); err != nil {
		return err
	}
	if strict {
		return d.Done(w, r, v, "sandbox", "strict_on")
	}
	return d.Done(w, r, v, "sandbox", "strict_off")
}

// resetSandbox begins to empty the sandbox. Whoever does it types the merchant's name.
func (d *developers) resetSandbox(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if typed := r.FormValue("confirm"); strings.TrimSpace(typed) != strings.TrimSpace(v.Merchant.Name) {
		wrong := frame.Mistakes{Wrong: map[string]string{"confirm": d.room.Text(v, "reset_wrong")}}
		return d.showSandbox(w, r, v, http.StatusBadRequest, sandboxView{Mistakes: wrong, Confirm: typed})
	}
	if !d.Confirmed(w, r, v, v.Home()+"/sandbox") {
		return nil
	}
	if _, err := d.Uses.Sandbox.Reset(r.Context(), v.Actor(), v.Scope); err != nil {
		return err
	}
	return d.Done(w, r, v, "sandbox", "reset_begun")
}

// apiView is the page of the API's version.
type apiView struct {
	Version, Base, Events string
}

func (d *developers) api(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return d.room.Show(w, r, v, "api", apiView{view.APIVersion, d.Uses.CheckoutURL + view.Base, string(webhooks.NewestEvents)})
}
