package people

import (
	"context"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// OperatorPath names an operator with a token.
type OperatorPath struct {
	Name string `path:"name" maxLength:"64" pattern:"^[A-Za-z0-9._-]+$" example:"ana"`
}

type operatorsIn struct {
	call.PageQuery
	All bool `query:"all" doc:"Include those who were removed"`
}

type operatorsOut struct {
	Body struct {
		Data       []shape.Operator `json:"data"`
		Pagination call.Cursor      `json:"pagination"`
	}
}

type operatorOut struct{ Body shape.Operator }

type addOperatorIn struct{ Body NewOperatorBody }

// NewOperatorBody is who gets a token.
type NewOperatorBody struct {
	_      struct{}       `additionalProperties:"false"`
	Name   string         `json:"name" minLength:"1" maxLength:"64" example:"deploy-bot" doc:"As the audit log shows it"`
	Role   operators.Role `json:"role" enum:"admin,finance,risk,support,viewer"`
	Person string         `json:"person,omitempty" maxLength:"64" example:"usr_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6" doc:"The user of the console whose token it is: both count as one person, and the token has no more rights than he has"`
	EndsAt *time.Time     `json:"endsAt,omitempty" doc:"When the token ends; left out: in 90 days"`
}

type addedOperatorOut struct{ Body shape.AddedOperator }

type changeOperatorIn struct {
	OperatorPath
	Body OperatorRoleBody
}

// DualControlPath names a right that may need two persons.
type DualControlPath struct {
	Right operators.Right `path:"right" enum:"payouts,limits,adjustments,prices,credentials,manage,machine"`
}

type dualControlsOut struct {
	Body struct {
		Data []shape.DualControl `json:"data"`
	}
}

type setDualControlIn struct {
	DualControlPath
	Body DualControlBody
}

// DualControlBody says whether the use of a right needs two persons.
type DualControlBody struct {
	_        struct{} `additionalProperties:"false"`
	Required bool     `json:"required"`
}

type dualControlOut struct{ Body shape.DualControl }

// ProposalPath names a proposal.
type ProposalPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_]+$" example:"prp_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

type proposalsIn struct {
	call.PageQuery
	All bool `query:"all" doc:"Include those that have ended, of the newest 500"`
}

type proposalsOut struct {
	Body struct {
		Data       []shape.Proposal `json:"data"`
		Pagination call.Cursor      `json:"pagination"`
	}
}

type proposalOut struct{ Body shape.Proposal }

type rejectProposalIn struct {
	ProposalPath
	Body ProposalRejection
}

// ProposalRejection says why a proposal is rejected.
type ProposalRejection struct {
	_    struct{} `additionalProperties:"false"`
	Note string   `json:"note" text:"lines" minLength:"1" maxLength:"1000" example:"the price is wrong" doc:"Why; it is kept in the audit log"`
}

func (a *api) operatorRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Operators"}}
	}
	conflict := []problem.Code{problem.ConflictState}
	call.Handle(a.API, operators.View, op("listOperators", http.MethodGet, "/operators", "List who has a token of this API and of the commands", "By name. Users of the console are under /users."), nil, a.operators)
	call.Handle(a.API, operators.View, op("getOperator", http.MethodGet, "/operators/{name}", "Read an operator", "Also one who was removed."), nil, a.operator)
	call.Handle(a.API, operators.Manage, call.Creates(op("addOperator", http.MethodPost, "/operators", "Give a person or a program a token",
		"It is shown once: a repeat with the same Idempotency-Key shows it again for 7 days.")), []problem.Code{problem.NotFound, problem.ConflictState}, a.addOperator)
	call.Handle(a.API, operators.Manage, op("changeOperator", http.MethodPatch, "/operators/{name}", "Give an operator another role", "On every node at once."), conflict, a.changeOperator)
	call.Handle(a.API, operators.Manage, op("removeOperator", http.MethodDelete, "/operators/{name}", "Revoke an operator's token", "On every node at once."), conflict, a.removeOperator)
}

func (a *api) dualControlRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Operators"}}
	}
	conflict := []problem.Code{problem.ConflictState}
	call.Handle(a.API, operators.View, op("listDualControls", http.MethodGet, "/dual-controls", "List the rights that may need two persons, and which do", "All of them."), nil, a.dualControls)
	call.Handle(a.API, operators.Manage, op("setDualControl", http.MethodPut, "/dual-controls/{right}", "Let a right be used only by two persons, or by one again",
		"One operator proposes, another person approves. Releasing a right needs two persons itself."), conflict, a.setDualControl)
	call.Handle(a.API, operators.View, op("listProposals", http.MethodGet, "/proposals", "List what operators proposed", "Newest first: those that can be decided or applied."), nil, a.proposals)
	call.Handle(a.API, operators.View, op("getProposal", http.MethodGet, "/proposals/{id}", "Read a proposal", "Also one that has ended."), nil, a.proposal)
	call.Handle(a.API, operators.View, op("approveProposal", http.MethodPost, "/proposals/{id}/approve", "Approve what another person proposed",
		"It needs the right that the proposal names. It is applied at once, or when whoever proposed it does it again."), conflict, a.approveProposal)
	call.Handle(a.API, operators.View, op("rejectProposal", http.MethodPost, "/proposals/{id}/reject", "Reject a proposal, or withdraw your own", "It needs the right that the proposal names."), conflict, a.rejectProposal)
}

func (a *api) operators(ctx context.Context, _ audit.Actor, in *operatorsIn) (*operatorsOut, error) {
	list, err := a.Uses.Operators.List(ctx, in.All)
	if err != nil {
		return nil, err
	}
	name := func(o operators.Operator) string { return o.Name }
	list = call.Cut(in.PageQuery, list, name)
	out := &operatorsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, name, shape.NewOperator)
	return out, nil
}

func (a *api) operator(ctx context.Context, _ audit.Actor, in *OperatorPath) (*operatorOut, error) {
	o, err := a.Uses.Operators.Get(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return &operatorOut{shape.NewOperator(o)}, nil
}

// tokenLife is how long an operator's token is valid if nobody says otherwise.
const tokenLife = 90 * 24 * time.Hour

func (a *api) addOperator(ctx context.Context, by audit.Actor, in *addOperatorIn) (*addedOperatorOut, error) {
	n := auth.Newcomer{Name: in.Body.Name, Role: in.Body.Role, Ends: a.Uses.Now().Add(tokenLife)}
	if in.Body.EndsAt != nil {
		if n.Ends = *in.Body.EndsAt; !n.Ends.After(a.Uses.Now()) {
			return nil, message.FieldRefusal(problem.InvalidRequest, "endsAt", "endsAt must be in the future")
		}
	}
	if in.Body.Person != "" {
		u, err := a.active(ctx, in.Body.Person)
		if err != nil {
			return nil, err
		}
		n.Person = u.ID
	}
	token, o, err := a.Uses.Operators.Add(ctx, by, n)
	if err != nil {
		return nil, err
	}
	return &addedOperatorOut{shape.AddedOperator{Operator: shape.NewOperator(o), Token: token}}, nil
}

func (a *api) changeOperator(ctx context.Context, by audit.Actor, in *changeOperatorIn) (*operatorOut, error) {
	o, err := a.Uses.Operators.Change(ctx, by, in.Name, in.Body.Role)
	if err != nil {
		return nil, err
	}
	return &operatorOut{shape.NewOperator(o)}, nil
}

func (a *api) removeOperator(ctx context.Context, by audit.Actor, in *OperatorPath) (*operatorOut, error) {
	if err := a.Uses.Operators.Remove(ctx, by, in.Name); err != nil {
		return nil, err
	}
	return a.operator(ctx, by, in)
}

func (a *api) dualControls(ctx context.Context, _ audit.Actor, _ *struct{}) (*dualControlsOut, error) {
	list, err := a.Uses.Dual.List(ctx)
	out := &dualControlsOut{}
	out.Body.Data = make([]shape.DualControl, 0, len(list))
	for _, d := range list {
		out.Body.Data = append(out.Body.Data, shape.NewDualControl(d))
	}
	return out, err
}

func (a *api) setDualControl(ctx context.Context, by audit.Actor, in *setDualControlIn) (*dualControlOut, error) {
	if err := a.Uses.Dual.Set(ctx, by, in.Right, in.Body.Required, ""); err != nil {
		return nil, err
	}
	list, err := a.Uses.Dual.List(ctx)
	for _, d := range list {
		if d.Right == in.Right {
			return &dualControlOut{shape.NewDualControl(d)}, err
		}
	}
	return nil, err
}

func (a *api) proposals(ctx context.Context, _ audit.Actor, in *proposalsIn) (*proposalsOut, error) {
	list, err := a.Uses.Dual.Proposals(ctx, in.All)
	if err != nil {
		return nil, err
	}
	id := func(p operators.Proposal) string { return p.ID }
	list = call.CutNewest(in.PageQuery, list, id)
	out := &proposalsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, id, shape.NewProposal)
	return out, nil
}

func (a *api) proposal(ctx context.Context, _ audit.Actor, in *ProposalPath) (*proposalOut, error) {
	return proposed(a.Uses.Dual.Proposal(ctx, in.ID))
}

func proposed(p operators.Proposal, err error) (*proposalOut, error) {
	if err != nil {
		return nil, err
	}
	return &proposalOut{shape.NewProposal(p)}, nil
}

func (a *api) approveProposal(ctx context.Context, by audit.Actor, in *ProposalPath) (*proposalOut, error) {
	return proposed(a.Uses.Dual.Approve(ctx, by, in.ID))
}

func (a *api) rejectProposal(ctx context.Context, by audit.Actor, in *rejectProposalIn) (*proposalOut, error) {
	return proposed(a.Uses.Dual.Reject(ctx, by, in.ID, in.Body.Note))
}
