package merchants

import (
	"context"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	appplans "github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/plans/planfile"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// PlanPath names a price plan.
type PlanPath struct {
	Name string `path:"name" maxLength:"40" pattern:"^[a-z0-9-]+$" example:"gold"`
}

type plansOut struct {
	Body struct {
		Data []shape.Plan `json:"data"`
	}
}

type planOut struct{ Body shape.Plan }

type planIn struct {
	PlanPath
	Body PlanBody
}

// PlanBody is what a plan says from a time on.
type PlanBody struct {
	_        struct{}   `additionalProperties:"false"`
	Currency string     `json:"currency,omitempty" maxLength:"3" doc:"Of all amounts of the plan; USD if it is left out" example:"USD"`
	From     *time.Time `json:"from,omitempty" doc:"In force from then on; now if it is left out"`
	planfile.PlanTerms
}

type replayPlanIn struct{ Body ReplayPlanBody }

// ReplayPlanBody asks what a plan would have earned.
type ReplayPlanBody struct {
	_           struct{}              `additionalProperties:"false"`
	Plan        planfile.PlanText     `json:"plan"`
	Environment merchants.Environment `json:"environment,omitempty" enum:"sandbox,production" doc:"production if it is left out"`
	From        time.Time             `json:"from" doc:"Payments made from then on"`
	To          *time.Time            `json:"to,omitempty" doc:"Payments made before; now if it is left out"`
	Merchants   []string              `json:"merchantIds,omitempty" maxItems:"100" doc:"Only payments of these; by default of those who have the plan now, or of all if nobody has it"`
}

type replayPlanOut struct{ Body shape.ReplayedPlan }

func (a *api) planRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Plans"}}
	}
	call.Handle(a.API, operators.View, op("listPlans", http.MethodGet, "/plans", "List price plans", "Each plan in the version that is in force now, by name."), nil, a.plans)
	call.Handle(a.API, operators.View, op("listPlanVersions", http.MethodGet, "/plans/{name}/versions", "List the versions of a price plan", "Newest first."), nil, a.planVersions)
	call.Handle(a.API, operators.View, op("getPlan", http.MethodGet, "/plans/{name}", "Read a price plan", "The version that is in force now."), nil, a.plan)
	call.Handle(a.API, operators.Prices, op("applyPlan", http.MethodPut, "/plans/{name}", "Make or change a price plan",
		"Payments that exist keep the terms that they were made with. All nodes use the plan within 5 seconds. A repeat changes nothing."), []problem.Code{problem.ConflictState}, a.applyPlan)
	call.Handle(a.API, operators.View, call.Heavy(op("replayPlan", http.MethodPost, "/plan-replays", "Compute what a plan would have earned",
		"Computes the fees of past payments under a plan. Nothing is changed, and the plan need not exist.")), nil, a.replayPlan)
}

func (a *api) plans(context.Context, audit.Actor, *struct{}) (*plansOut, error) {
	out := &plansOut{}
	b := a.Uses.Plans.Book()
	for _, name := range b.Names() {
		v, _ := b.At(name, a.Uses.Now())
		out.Body.Data = append(out.Body.Data, shape.NewPlan(v))
	}
	return out, nil
}

func (a *api) planVersions(_ context.Context, _ audit.Actor, in *PlanPath) (*plansOut, error) {
	list := a.Uses.Plans.Book().Versions(in.Name)
	if len(list) == 0 {
		return nil, appplans.ErrUnknown
	}
	out := &plansOut{}
	for i := len(list) - 1; i >= 0; i-- {
		out.Body.Data = append(out.Body.Data, shape.NewPlan(list[i]))
	}
	return out, nil
}

func (a *api) plan(_ context.Context, _ audit.Actor, in *PlanPath) (*planOut, error) {
	v, known := a.Uses.Plans.Book().At(in.Name, a.Uses.Now())
	if !known {
		return nil, appplans.ErrUnknown
	}
	return &planOut{shape.NewPlan(v)}, nil
}

func (a *api) applyPlan(ctx context.Context, by audit.Actor, in *planIn) (*planOut, error) {
	p, err := planfile.PlanText{Name: in.Name, Currency: money.Currency(in.Body.Currency), PlanTerms: in.Body.PlanTerms}.Plan()
	if err != nil {
		return nil, err
	}
	v, _, err := a.Uses.Plans.Apply(ctx, by, p, call.TimeOr(in.Body.From))
	if err != nil {
		return nil, err
	}
	return &planOut{shape.NewPlan(v)}, nil
}

func (a *api) replayPlan(ctx context.Context, _ audit.Actor, in *replayPlanIn) (*replayPlanOut, error) {
	p, err := in.Body.Plan.Plan()
	if err != nil {
		return nil, err
	}
	r := appplans.Replay{Plan: p, Live: in.Body.Environment != merchants.Sandbox, From: in.Body.From, To: a.Uses.Now(), Merchants: in.Body.Merchants}
	if in.Body.To != nil {
		r.To = *in.Body.To
	}
	out, err := a.Uses.Plans.Replay(ctx, r)
	if err != nil {
		return nil, err
	}
	return &replayPlanOut{shape.NewReplayedPlan(out)}, nil
}
