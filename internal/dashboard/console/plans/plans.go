// Package plans is the console's pages of price plans: the list, a plan as a file, what it would have earned, and who gets it.
package plans

import (
	"embed"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	appplans "github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/plans/planfile"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

//go:embed all:templates text
var files embed.FS

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Plans      *appplans.Plans
	Onboarding *appmerchants.Onboarding
}

type pages struct {
	*desk.Pages
	uses Uses
}

// Register adds the pages to a site.
func Register(site *frame.Site, uses Uses) error {
	d, err := desk.New(site, files)
	if err != nil {
		return err
	}
	p := &pages{d, uses}
	site.HandleOperator("GET /console/plans", operators.View, p.list)
	site.HandleOperator("GET /console/plans/edit", operators.View, p.edit, frame.Beforehand())
	site.HandleOperator("POST /console/plans/edit", operators.Prices, p.work)
	site.HandleOperator("GET /console/plans/assign", operators.Prices, p.assigning, frame.Beforehand())
	site.HandleOperator("POST /console/plans/assign", operators.Prices, p.assign)
	return nil
}

// row is a plan in the list.
type row struct {
	plans.Version
	Otherwise string // the price of payments for which no other is meant
	Next      []plans.Version
}

type listView struct{ Rows []row }

func (p *pages) list(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	var view listView
	now, book := p.uses.Now(), p.uses.Plans.Book()
	for _, name := range book.Names() {
		one := row{}
		one.Version, _ = book.At(name, now)
		one.Name = name
		if list := planfile.New(one.Plan).Prices; len(list) > 0 {
			one.Otherwise = list[len(list)-1].String()
		}
		for _, version := range book.Versions(name) {
			if version.From.After(now) {
				one.Next = append(one.Next, version)
			}
		}
		view.Rows = append(view.Rows, one)
	}
	return p.Room.Show(w, r, v, "plans", view)
}

// earned is a line of a replay, in USD.
type earned struct {
	Merchant             string
	Payments             int64
	Volume, Was, Is, Dif money.Amount
}

type editView struct {
	desk.Form
	File     string
	Name     string // of the plan that was opened
	Versions []plans.Version
	Replayed []earned
	Checked  bool
}

// edit shows a plan as a file, or an empty file for a new one.
func (p *pages) edit(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	name := r.FormValue("plan")
	view := editView{Name: name, File: "plan: \ncurrency: USD\nprices:\n  - percent: 2.9\nsettlement:\n  delay: 48h\n"}
	if name != "" {
		list := p.uses.Plans.Book().Versions(name)
		if len(list) == 0 {
			return problem.New(problem.NotFound, base.NoPage)
		}
		text, err := planfile.Write(list[len(list)-1].Plan)
		if err != nil {
			return err
		}
		view.File = string(text)
	}
	return p.show(w, r, v, http.StatusOK, view)
}

func (p *pages) show(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, view editView) error {
	if view.Name != "" {
		view.Versions = p.uses.Plans.Book().Versions(view.Name)
	}
	return p.Room.ShowStatus(w, r, v, status, "edit", view)
}

// work checks the file, replays it, or applies it.
func (p *pages) work(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view := editView{Form: desk.Typed(r, "from", "since"), File: strings.ReplaceAll(r.FormValue("file"), "\r\n", "\n"), Name: r.FormValue("plan")}
	refused := func(err error) error {
		status, fault := view.Refused(v, err)
		if fault != nil {
			return fault
		}
		return p.show(w, r, v, status, view)
	}
	plan, err := planfile.Read([]byte(view.File))
	if err == nil {
		err = p.uses.Plans.Check(plan)
	}
	if err != nil { // the sentence has the line
		return refused(desk.Shown(message.FieldRefusal(problem.InvalidRequest, "file", message.Sentence(err)), "file"))
	}
	view.Checked = true
	switch r.FormValue("do") {
	case "replay":
		days, err := strconv.Atoi(view.Value("since"))
		if err != nil || days < 1 || days > 366 {
			days = 31
		}
		if err := p.ReadMuch(w, v); err != nil {
			return refused(err)
		}
		now := p.uses.Now()
		done, err := p.uses.Plans.Replay(r.Context(), appplans.Replay{Plan: plan, Live: true, From: now.AddDate(0, 0, -days), To: now})
		if err != nil {
			return refused(err)
		}
		view.Replayed = lines(done)
	case "apply":
		from, err := instant(view.Value("from"))
		if err != nil {
			return refused(err)
		}
		if _, _, err = p.uses.Plans.Apply(r.Context(), v.Actor(), plan, from); err != nil {
			return refused(err)
		}
		return p.Done(w, r, "plans", "plan_applied", "plan", plan.Name)
	}
	return p.show(w, r, v, http.StatusOK, view)
}

// lines are the parts of a replay, and their sum.
func lines(done appplans.Replayed) (list []earned) {
	usd := func(cents int64) money.Amount { return money.New(cents, money.USD) }
	line := func(merchant string, e appplans.Earned) earned {
		return earned{merchant, e.Payments, usd(e.Volume), usd(e.Was.Platform), usd(e.Is.Platform), usd(e.Is.Platform - e.Was.Platform)}
	}
	for _, of := range done.Of {
		list = append(list, line(of.Merchant, of.Earned))
	}
	return append(list, line("", done.Total))
}

// instant reads a day or a time of a form, in UTC; an empty text is the zero time.
//
// Errors: invalid_request.
func instant(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{"2006-01-02T15:04", time.DateOnly, time.RFC3339} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, problem.Field(problem.InvalidRequest, "from", timeUnreadable)
}

type assignView struct {
	desk.Form
	Merchant string
	Name     string
	Plans    []frame.Option
}

// assigning shows the form that gives a merchant a plan.
func (p *pages) assigning(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return p.showAssign(w, r, v, http.StatusOK, r.FormValue("merchant"), desk.Form{Values: map[string]string{}})
}

func (p *pages) showAssign(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, merchant string, typed desk.Form) error {
	m, err := p.uses.AnyMerchant(r.Context(), merchant)
	if err != nil {
		return base.OrRefuse(err, problem.New(problem.NotFound, base.NoPage))
	}
	view := assignView{Form: typed, Merchant: m.ID, Name: m.Name}
	given, _ := m.AssignmentAt(p.uses.Now())
	book := p.uses.Plans.Book()
	for _, name := range book.Names() {
		view.Plans = append(view.Plans, frame.Option{Value: name, Label: name})
	}
	if typed.Value("plan") == "" {
		view.Values["plan"] = given.Plan
	}
	return p.Room.ShowStatus(w, r, v, status, "assign", view)
}

// assign gives a merchant a plan, with exceptions of its own, from a time on.
func (p *pages) assign(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	merchant := r.FormValue("merchant")
	typed := desk.Typed(r, "plan", "from", "reason")
	typed.Values["exceptions"] = strings.ReplaceAll(r.FormValue("exceptions"), "\r\n", "\n")
	to, err := p.assignment(typed)
	if err == nil {
		_, err = p.uses.Onboarding.Agree(r.Context(), v.Actor(), merchant, appmerchants.Agreement{Plan: &to, Reason: to.Reason})
	}
	if err == nil {
		return p.Done(w, r, "merchants/"+merchant, "plan_assigned", "plan", to.Plan)
	}
	status, fault := typed.Refused(v, err)
	if fault != nil {
		return fault
	}
	return p.showAssign(w, r, v, status, merchant, typed)
}

func (p *pages) assignment(typed desk.Form) (to appplans.Assignment, err error) {
	to = appplans.Assignment{Plan: typed.Value("plan"), Reason: typed.Value("reason")}
	if to.From, err = instant(typed.Value("from")); err != nil || strings.TrimSpace(typed.Value("exceptions")) == "" {
		return to, err
	}
	at := to.From
	if at.IsZero() {
		at = p.uses.Now()
	}
	version, known := p.uses.Plans.Book().At(to.Plan, at)
	if !known {
		return to, appplans.Unknown(p.uses.Plans.Book(), to.Plan)
	}
	if to.Own, err = planfile.ReadExceptions([]byte(typed.Value("exceptions")), version.Plan); err != nil {
		err = message.FieldRefusal(problem.InvalidRequest, "exceptions", message.Sentence(err))
	}
	return to, err
}
