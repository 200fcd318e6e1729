package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/people"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// proposalRow is a proposal in a list, with who made it.
type proposalRow struct {
	operators.Proposal
	Maker, Decider string
	Over           bool // nobody can decide it any more
}

type proposalsView struct {
	Rows []proposalRow
	All  bool
	Most int
}

// proposals lists what waits for a second operator, or with all=yes also what has ended.
func (pg *pages) proposals(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	view := proposalsView{All: r.FormValue("all") == "yes", Most: desk.Most}
	list, err := pg.Uses.Dual.Proposals(r.Context(), view.All)
	if err != nil {
		return err
	}
	names := map[string]string{}
	for _, p := range list[:min(len(list), desk.Most)] {
		row, err := pg.proposalRow(r, names, p)
		if err != nil {
			return err
		}
		view.Rows = append(view.Rows, row)
	}
	return pg.Room.Show(w, r, v, "proposals", view)
}

func (pg *pages) proposalRow(r *http.Request, names map[string]string, p operators.Proposal) (row proposalRow, err error) {
	row = proposalRow{Proposal: p, Over: !p.Open(pg.Uses.Now())}
	if row.Maker, err = pg.Who(r.Context(), names, p.MadeBy); err != nil || p.DecidedBy == "" {
		return row, err
	}
	row.Decider, err = pg.Who(r.Context(), names, p.DecidedBy)
	return row, err
}

type proposalView struct {
	desk.Form
	proposalRow
	Facts []detail
	Own   bool
}

func (pg *pages) proposal(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.showProposal(w, r, v, http.StatusOK, desk.Form{})
}

func (pg *pages) showProposal(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, typed desk.Form) error {
	p, err := pg.Uses.Dual.Proposal(r.Context(), r.PathValue("id"))
	if err != nil {
		return base.OrRefuse(err, problem.New(problem.NotFound, base.NoPage))
	}
	view := proposalView{Form: typed, Own: p.MadeBy == v.User.ID}
	if view.proposalRow, err = pg.proposalRow(r, map[string]string{}, p); err != nil {
		return err
	}
	for name, value := range p.Details {
		view.Facts = append(view.Facts, detail{name, value})
	}
	slices.SortFunc(view.Facts, func(x, y detail) int { return cmp.Compare(x.Name, y.Name) })
	return pg.Room.ShowStatus(w, r, v, status, "proposal", view)
}

// decided shows what became of a proposal.
func (pg *pages) decided(w http.ResponseWriter, r *http.Request, v *frame.Visit, p operators.Proposal, err error) error {
	if err == nil {
		return pg.Done(w, r, "proposals/"+p.ID, "proposal_"+string(p.Status)+"_done")
	}
	typed := desk.Typed(r, "note")
	status, fault := typed.Refused(v, err)
	if fault != nil {
		return fault
	}
	return pg.showProposal(w, r, v, status, typed)
}

func (pg *pages) approveProposal(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !pg.Confirmed(w, r, v, frame.Base+"/console/proposals/"+r.PathValue("id")) { // it may move money
		return nil
	}
	p, err := pg.Uses.Dual.Approve(r.Context(), v.Actor(), r.PathValue("id"))
	return pg.decided(w, r, v, p, err)
}

func (pg *pages) rejectProposal(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	p, err := pg.Uses.Dual.Reject(r.Context(), v.Actor(), r.PathValue("id"), strings.TrimSpace(r.FormValue("note")))
	return pg.decided(w, r, v, p, err)
}

// setOperatorRole gives another operator a role.
func (pg *pages) setOperatorRole(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.onOperator(w, r, v, "operator_role_set", func(u people.User) error {
		return pg.Uses.Team.SetOperator(r.Context(), v.Actor(), u.Email, operators.Role(r.FormValue("role")))
	})
}

// setDual requires two persons for a right, or releases it.
func (pg *pages) setDual(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !pg.Confirmed(w, r, v, frame.Base+"/console/operators") {
		return nil
	}
	err := pg.Uses.Dual.Set(r.Context(), v.Actor(), operators.Right(r.FormValue("right")), r.FormValue("required") == "yes", "")
	if err == nil {
		return pg.Done(w, r, "operators", "dual_set")
	}
	var typed desk.Form
	status, fault := typed.Refused(v, err)
	if fault != nil {
		return fault
	}
	return pg.showOperators(w, r, v, status, operatorsView{Form: typed})
}

// makeToken gives the visitor a token of his own, which is shown once.
func (pg *pages) makeToken(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	if !pg.Confirmed(w, r, v, frame.Base+"/console/operators") {
		return nil
	}
	typed := desk.Typed(r, "name")
	token, o, err := pg.Uses.Operators.Add(r.Context(), v.Actor(), auth.Newcomer{
		Name: typed.Value("name"), Role: v.User.Operator, Person: v.User.ID, Ends: pg.Uses.Now().Add(operators.TokenLife),
	})
	if err == nil {
		return pg.showOperators(w, r, v, http.StatusOK, operatorsView{Token: token, TokenOf: o.Name})
	}
	status, fault := typed.Refused(v, err)
	if fault != nil {
		return fault
	}
	return pg.showOperators(w, r, v, status, operatorsView{Form: typed})
}

// removeToken ends a token of the visitor, or any token for those who manage operators.
func (pg *pages) removeToken(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	o, err := pg.Uses.Operators.Get(r.Context(), r.FormValue("name"))
	if err == nil && o.Person != v.User.ID {
		err = v.User.Operator.Check(operators.Manage)
	}
	if err == nil {
		err = pg.Uses.Operators.Remove(r.Context(), v.Actor(), o.Name)
	}
	if err == nil {
		return pg.Done(w, r, "operators", "token_removed", "name", o.Name)
	}
	var typed desk.Form
	status, fault := typed.Refused(v, err)
	if fault != nil {
		return fault
	}
	return pg.showOperators(w, r, v, status, operatorsView{Form: typed})
}
