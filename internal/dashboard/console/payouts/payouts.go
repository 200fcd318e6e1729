// Package payouts is the console's pages of what leaves the service: limits, batches for banks, and the operator's money
// at payout accounts.
package payouts

import (
	"cmp"
	"embed"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

//go:embed all:templates text
var files embed.FS

type pages struct {
	*desk.Pages
	Uses Uses
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	d, err := desk.New(site, files)
	if err != nil {
		return err
	}
	p := &pages{d, uses}
	site.HandleOperator("GET /console/payouts", operators.View, p.limits)
	site.HandleOperator("POST /console/payouts/limits", operators.Limits, p.setLimits)
	site.HandleOperator("POST /console/payouts/stop", operators.Limits, p.stop, frame.Calm())
	site.HandleOperator("POST /console/payouts/resume", operators.Limits, p.resume)
	site.HandleOperator("GET /console/payouts/batches", operators.View, p.batches)
	site.HandleOperator("POST /console/payouts/batches", operators.Payouts, p.make)
	site.HandleOperator("GET /console/payouts/batches/{id}", operators.View, p.batch)
	site.HandleOperator("POST /console/payouts/batches/{id}/approve", operators.Payouts, p.approve)
	site.HandleOperator("POST /console/payouts/batches/{id}/dissolve", operators.Payouts, p.dissolve)
	site.HandleOperator("POST /console/payouts/batches/{id}/file", operators.Payouts, p.export)
	site.HandleOperator("POST /console/payouts/answers", operators.Payouts, p.answers, frame.Files(maxAnswer, answerWithin))
	site.HandleOperator("GET /console/payouts/floats", operators.View, p.floats)
	site.HandleOperator("POST /console/payouts/floats", operators.Payouts, p.topUp)
	return nil
}

// page is the path of a page of this room, for a second factor that is asked for on the way to it.
func page(path string) string { return frame.Base + "/console/payouts" + path }

func usd(cents int64) money.Amount { return money.New(cents, money.USD) }

// limited is a control with its amounts.
type limited struct {
	pay.PayoutControl
	Above, Hour, Day, Least money.Amount
}

func shown(c pay.PayoutControl) limited {
	return limited{c, usd(c.ApprovalAbove), usd(c.Hourly), usd(c.Daily), usd(c.Minimum)}
}

type limitsView struct {
	desk.Form
	Rows     []limited
	Names    *desk.Names
	Merchant string // whose limits the form changes, "" of all together
	Of       string // the merchant's name
	Live     bool
	Now      limited
}

// Seen marks the limits that the form was made from.
func (v limitsView) Seen() string { return mark(v.Now.PayoutLimits) }

// mark is a text that differs if the limits differ, "" for no limits. A stop is not one of them.
func mark(l pay.PayoutLimits) string {
	l.Stopped = ""
	if l == (pay.PayoutLimits{}) {
		return ""
	}
	return fmt.Sprint(l)
}

// of reads whose limits a page or a form is about.
func of(r *http.Request) (merchant string, live bool) {
	return strings.TrimSpace(r.FormValue("merchant")), r.FormValue("environment") != string(merchants.Sandbox)
}

// here is the page of the limits of a request.
func here(r *http.Request) string {
	merchant, live := of(r)
	return "payouts?environment=" + string(merchants.EnvironmentOf(live)) + "&merchant=" + merchant
}

func (p *pages) limits(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.showLimits(w, r, v, http.StatusOK, desk.Form{})
}

// showLimits shows all limits, and a form for those of one merchant or of all together.
func (p *pages) showLimits(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, typed desk.Form) error {
	ctx := r.Context()
	view := limitsView{Form: typed, Names: p.Names(ctx)}
	view.Merchant, view.Live = of(r)
	if view.Merchant != "" {
		m, err := p.Uses.AnyMerchant(ctx, view.Merchant)
		if err != nil {
			return err
		}
		view.Of = m.Name
	}
	list, err := p.Uses.Payouts.Controls(ctx)
	if err != nil {
		return err
	}
	for _, c := range list {
		view.Rows = append(view.Rows, shown(c))
	}
	now, err := p.Uses.Payouts.Control(ctx, view.Merchant, view.Live)
	if err != nil {
		return err
	}
	view.Now = shown(now)
	if view.Values == nil {
		view.Values = map[string]string{"days": now.Days}
		for name, cents := range map[string]int64{"approvalAbove": now.ApprovalAbove, "hourly": now.Hourly, "daily": now.Daily, "minimum": now.Minimum} {
			if cents > 0 {
				view.Values[name] = usd(cents).Decimal()
			}
		}
		view.Values["schedule"] = now.Schedule.Word()
	}
	return p.Room.ShowStatus(w, r, v, status, "limits", view)
}

// dollars reads an amount of a form. An empty one is no limit.
func dollars(v *frame.Visit, typed desk.Form, field string) (int64, error) {
	text := typed.Value(field)
	if text == "" || text == "0" {
		return 0, nil
	}
	a, ok := frame.Typed(v.Language(), text, money.USD)
	if !ok {
		return 0, problem.Field(problem.InvalidRequest, field, limitUnreadable)
	}
	return a.Minor, nil
}

// setLimits changes limits, if nobody has changed them since the form was opened: otherwise it would bring old ones
// back. It leaves a stop as it is: a form that was opened before the stop must not end it.
func (p *pages) setLimits(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !p.Confirmed(w, r, v, frame.Base+"/console/"+here(r)) { // more may leave (DASH-6)
		return nil
	}
	typed := desk.Typed(r, "approvalAbove", "hourly", "daily", "schedule", "minimum", "days")
	merchant, live := of(r)
	var l pay.PayoutLimits
	var err, wrong error
	for field, into := range map[string]*int64{"approvalAbove": &l.ApprovalAbove, "hourly": &l.Hourly, "daily": &l.Daily, "minimum": &l.Minimum} {
		if *into, wrong = dollars(v, typed, field); wrong != nil {
			err = cmp.Or(err, wrong)
		}
	}
	if err == nil {
		changed := false
		_, err = p.Uses.Payouts.LimitPayouts(r.Context(), v.Actor(), merchant, live, func(now *pay.PayoutLimits) {
			if changed = mark(*now) != r.FormValue("seen"); changed {
				return
			}
			now.ApprovalAbove, now.Hourly, now.Daily = l.ApprovalAbove, l.Hourly, l.Daily
			if merchant != "" {
				now.Schedule, now.Minimum, now.Days = pay.ParseSchedule(typed.Value("schedule")), l.Minimum, typed.Value("days")
			}
		})
		if changed && err == nil {
			err = problem.Conflict("changed", limitsChanged)
		}
	}
	return p.limitsDone(w, r, v, typed, err, "limits_saved")
}

// limitsDone leads on to the limits, or shows what was wrong.
func (p *pages) limitsDone(w http.ResponseWriter, r *http.Request, v *frame.Visit, typed desk.Form, err error, done string) error {
	if err == nil {
		return p.Done(w, r, here(r), done)
	}
	status, fault := typed.Refused(v, err)
	if fault != nil {
		return fault
	}
	return p.showLimits(w, r, v, status, typed)
}

// stop holds all payouts back, or those of one merchant. It asks for no second factor: it must be quick.
func (p *pages) stop(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	merchant, live := of(r)
	reason := strings.TrimSpace(r.FormValue("reason"))
	var err error
	if reason == "" || utf8.RuneCountInString(reason) > pay.MaxStopReason {
		err = problem.Field(problem.InvalidRequest, "reason", stopReasonMissing)
	} else {
		_, err = p.Uses.Payouts.LimitPayouts(r.Context(), v.Actor(), merchant, live, func(l *pay.PayoutLimits) { l.Stopped = reason })
	}
	var typed desk.Form
	return p.limitsDone(w, r, v, typed, err, "payouts_stopped")
}

// resume sends payouts again. The form names the stop that the operator saw: an old page does not end one that
// another operator began for another reason.
func (p *pages) resume(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !p.Confirmed(w, r, v, frame.Base+"/console/"+here(r)) {
		return nil
	}
	merchant, live := of(r)
	other := false
	_, err := p.Uses.Payouts.LimitPayouts(r.Context(), v.Actor(), merchant, live, func(l *pay.PayoutLimits) {
		if other = l.Stopped != "" && l.Stopped != r.FormValue("stop"); !other {
			l.Stopped = ""
		}
	})
	if other && err == nil {
		err = problem.Conflict("changed", stopChanged)
	}
	return p.limitsDone(w, r, v, desk.Form{}, err, "payouts_resumed")
}
