package console

import (
	"cmp"
	"net/http"
	"slices"

	users "github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// operatorsView is the page of the operators.
type operatorsView struct {
	desk.Form
	Users   []people.User
	Invited []people.Link
	Names   map[string]string    // addresses of the operators by id
	Tokens  []operators.Operator // of the admin API
	Link    string               // of a new invitation, shown once
	LinkTo  string
	Token   string // of the visitor, shown once
	TokenOf string // its name
	Roles   []frame.Option
	Dual    []operators.DualControl
}

func (pg *pages) operators(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.showOperators(w, r, v, http.StatusOK, operatorsView{})
}

func (pg *pages) showOperators(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, view operatorsView) error {
	var err error
	if view.Users, view.Invited, err = pg.Uses.Team.Operators(r.Context()); err != nil {
		return err
	}
	view.Names = map[string]string{}
	for _, u := range view.Users {
		view.Names[u.ID] = u.Email
	}
	if view.Tokens, err = pg.Uses.Operators.List(r.Context(), false); err != nil {
		return err
	}
	if view.Dual, err = pg.Uses.Dual.List(r.Context()); err != nil {
		return err
	}
	for _, role := range operators.Roles() {
		view.Roles = append(view.Roles, frame.Option{Value: string(role), Label: pg.Room.Text(v, "role_"+string(role))})
	}
	return pg.Room.ShowStatus(w, r, v, status, "operators", view)
}

func (pg *pages) inviteOperator(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	typed := desk.Typed(r, "email", "language", "role")
	told, err := pg.Uses.Links.Invite(r.Context(), v.Actor(), "", users.Invitee{Email: typed.Value("email"), Operator: operators.Role(typed.Value("role")), Language: language(typed.Value("language"))})
	if err == nil {
		return pg.invited(w, r, v, told)
	}
	status, fault := typed.Refused(v, err)
	if fault != nil {
		return fault
	}
	return pg.showOperators(w, r, v, status, operatorsView{Form: typed})
}

// invited shows what became of an invitation: the link itself only if no e-mail has it, because a link that somebody else saw proves nothing.
func (pg *pages) invited(w http.ResponseWriter, r *http.Request, v *frame.Visit, told users.NewLink) error {
	switch {
	case told.Waits:
		return pg.Done(w, r, "operators", "operator_waits", "email", told.Link.Email)
	case told.Mailed:
		return pg.Done(w, r, "operators", "invited_mailed", "email", told.Link.Email)
	}
	return pg.showOperators(w, r, v, http.StatusOK, operatorsView{Link: told.Address, LinkTo: told.Link.Email})
}

// confirmOperator confirms whom another operator invited.
func (pg *pages) confirmOperator(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	told, err := pg.Uses.Links.Confirm(r.Context(), v.Actor(), r.FormValue("invitation"))
	if err == nil {
		return pg.invited(w, r, v, told)
	}
	var typed desk.Form
	status, fault := typed.Refused(v, err)
	if fault != nil {
		return fault
	}
	return pg.showOperators(w, r, v, status, operatorsView{Form: typed})
}

func (pg *pages) withdrawOperator(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if err := pg.Uses.Links.Withdraw(r.Context(), v.Actor(), "", "", r.FormValue("invitation")); err != nil {
		return err
	}
	return pg.Done(w, r, "operators", "invitation_withdrawn")
}

// another reads which operator a form is about. It refuses the visitor, who has the profile for that, and users
// who are not operators.
func (pg *pages) another(r *http.Request, v *frame.Visit) (people.User, error) {
	list, _, err := pg.Uses.Team.Operators(r.Context())
	if err != nil {
		return people.User{}, err
	}
	i := slices.IndexFunc(list, func(u people.User) bool { return u.ID == r.FormValue("user") })
	switch {
	case i < 0:
		return people.User{}, problem.New(problem.NotFound, noOperator)
	case list[i].ID == v.User.ID:
		return people.User{}, problem.Conflict("self", operatorIsYou)
	}
	return list[i], nil
}

// onOperator does something with another operator, and shows what was wrong on the page.
func (pg *pages) onOperator(w http.ResponseWriter, r *http.Request, v *frame.Visit, done string, do func(people.User) error) error {
	if !pg.Confirmed(w, r, v, frame.Base+"/console/operators") { // whoever stole a cookie must not lock the others out
		return nil
	}
	u, err := pg.another(r, v)
	if err == nil {
		err = do(u)
	}
	if err == nil {
		return pg.Done(w, r, "operators", done, "email", u.Email)
	}
	var typed desk.Form
	status, fault := typed.Refused(v, err)
	if fault != nil {
		return fault
	}
	return pg.showOperators(w, r, v, status, operatorsView{Form: typed})
}

// removeOperator removes a user altogether: the console, every merchant and all sign-ins.
func (pg *pages) removeOperator(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.onOperator(w, r, v, "operator_removed", func(u people.User) error { return pg.Uses.Team.Remove(r.Context(), v.Actor(), u.Email) })
}

func (pg *pages) signOutOperator(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.onOperator(w, r, v, "operator_signed_out", func(u people.User) error { return pg.Uses.People.SignOut(r.Context(), v.Actor(), u.Email) })
}

// unlockOperator opens a lock and takes the second factors away, for somebody who lost them.
func (pg *pages) unlockOperator(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.onOperator(w, r, v, "operator_unlocked", func(u people.User) error { return pg.Uses.Team.Unlock(r.Context(), v.Actor(), u.Email) })
}

// entry is a line of the audit log.
type entry struct {
	audit.Entry
	What    string // the act in words
	Who     string // the name of the user, or what the log has
	Details []detail
}

type detail struct{ Name, Value string }

type auditView struct {
	Rows  []entry
	Acts  []frame.Option
	Pager frame.Pager
}

// audit shows the acts at all merchants, newest first.
func (pg *pages) audit(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	list, err := pg.Uses.AuditLog(r.Context(), auditFilter(r), frame.Rows+1)
	if err != nil {
		return err
	}
	view := auditView{Acts: pg.Room.Acts(v)}
	list, view.Pager.Next = frame.Cut(list, func(e audit.Entry) string { return e.ID })
	names := map[string]string{}
	for _, e := range list {
		one, err := pg.entry(r, v, names, e)
		if err != nil {
			return err
		}
		view.Rows = append(view.Rows, one)
	}
	return pg.Room.Show(w, r, v, "audit", view)
}

// entry is an entry as it is shown: with the act in words, the user's address, and its details by name.
func (pg *pages) entry(r *http.Request, v *frame.Visit, names map[string]string, e audit.Entry) (one entry, err error) {
	one = entry{Entry: e, What: pg.Room.Act(v, e.Act)}
	if one.Who, err = pg.Who(r.Context(), names, e.By.ID); err != nil {
		return one, err
	}
	for name, value := range e.Details {
		one.Details = append(one.Details, detail{name, value})
	}
	slices.SortFunc(one.Details, func(x, y detail) int { return cmp.Compare(x.Name, y.Name) })
	return one, nil
}
