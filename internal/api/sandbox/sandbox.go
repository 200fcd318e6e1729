package sandbox

import (
	"context"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

type moveClockIn struct {
	Body struct {
		Advance string `json:"advance,omitempty" maxLength:"40" example:"48h" doc:"How far to go: Go's duration units and d, such as 90s, 48h, 7d, 1d12h"`
	}
	by time.Duration
}

// Resolve reads the duration. It distinguishes absent from invalid.
func (in *moveClockIn) Resolve(_ huma.Context, prefix *huma.PathBuffer) []error {
	if in.Body.Advance == "" {
		return []error{wire.Coded(problem.MissingField, call.Below(prefix, "body", "advance"), "advance is required")}
	}
	by, ok := merchants.ParseDuration(in.Body.Advance)
	if in.by = by; !ok {
		return []error{wire.Coded(problem.InvalidRequest, call.Below(prefix, "body", "advance"), "advance must be a duration such as 90s, 48h or 7d")}
	}
	return nil
}

type settingsIn struct {
	Body struct {
		Strict *bool `json:"strict,omitempty" doc:"Refuse what production refuses: a country where the method is not available, a document whose check digits are wrong, an irregular e-mail or phone. A card's shopper is sent to a page first"`
	}
}

type settingsOut struct {
	Body struct {
		Strict bool `json:"strict"`
	}
}

type clockOut struct{ Body view.Clock }

type simulateIn struct {
	ID   string `path:"id"`
	Body struct {
		Action sandbox.SimulatedAction `json:"action" enum:"paid,failed,expired,refunded,chargeback"`
	}
}

type simulateOut struct {
	Body struct {
		ID          string               `json:"id"`
		Status      pay.Status           `json:"status"`
		EventsFired []webhooks.EventType `json:"eventsFired"`
	}
}

func (a *api) routes() {
	tags := []string{"Sandbox"}
	call.Handle(a.API, huma.Operation{OperationID: "getClock", Method: http.MethodGet, Path: "/sandbox/clock", Tags: tags,
		Summary: "Read the sandbox's test clock"}, call.ToRead, a.clock)
	call.Handle(a.API, huma.Operation{OperationID: "advanceClock", Method: http.MethodPost, Path: "/sandbox/clock", Tags: tags,
		Summary: "Move the sandbox's test clock forward", DefaultStatus: http.StatusOK}, call.ToPlay, a.moveClock)
	call.Handle(a.API, huma.Operation{OperationID: "getSandbox", Method: http.MethodGet, Path: "/sandbox/settings", Tags: tags,
		Summary: "Read the settings of the sandbox"}, call.ToRead, a.settings)
	call.Handle(a.API, huma.Operation{OperationID: "setSandbox", Method: http.MethodPatch, Path: "/sandbox/settings", Tags: tags,
		Summary: "Make the sandbox strict, or lenient again"}, call.ToPlay, a.set)
	for _, alias := range []struct{ path, suffix string }{{"/payments", "Payment"}, {"/transactions", "Transaction"}} {
		call.Handle(a.API, huma.Operation{OperationID: "simulate" + alias.suffix, Method: http.MethodPost, Path: alias.path + "/{id}/simulate",
			Tags: tags, Deprecated: alias.path == "/transactions", Summary: "Move a sandbox payment to another status"}, call.ToPlay, a.simulate)
	}
}

func (a *api) settings(ctx context.Context, caller call.Caller, _ *struct{}) (*settingsOut, error) {
	m, err := a.uses.Sandbox.Settings(ctx, caller.Principal)
	out := &settingsOut{}
	out.Body.Strict = m.Strict
	return out, err
}

func (a *api) set(ctx context.Context, caller call.Caller, in *settingsIn) (*settingsOut, error) {
	if in.Body.Strict == nil {
		return a.settings(ctx, caller, nil)
	}
	m, err := a.uses.Sandbox.SetSandbox(ctx, caller.Principal, *in.Body.Strict)
	out := &settingsOut{}
	out.Body.Strict = m.Strict
	return out, err
}

func (a *api) clock(ctx context.Context, caller call.Caller, _ *struct{}) (*clockOut, error) {
	c, now, err := a.uses.Sandbox.Clock(ctx, caller.Scope)
	return &clockOut{view.NewClock(c, now)}, err
}

func (a *api) moveClock(ctx context.Context, caller call.Caller, in *moveClockIn) (*clockOut, error) {
	c, now, err := a.uses.Sandbox.MoveClock(ctx, caller.Principal, in.by)
	return &clockOut{view.NewClock(c, now)}, err
}

func (a *api) simulate(ctx context.Context, caller call.Caller, in *simulateIn) (*simulateOut, error) {
	if caller.Live {
		return nil, merchants.NoSimulation("")
	}
	scope, err := a.uses.Narrow(ctx, caller.Principal, "", "")
	if err != nil {
		return nil, err
	}
	p, fired, err := a.uses.Sandbox.Simulate(ctx, scope, in.ID, in.Body.Action, view.Cause{RequestID: caller.RequestID})
	if err != nil {
		return nil, err
	}
	out := &simulateOut{}
	out.Body.ID, out.Body.Status, out.Body.EventsFired = p.ID, p.Status, fired
	return out, nil
}

// publish adds to the published document what the validated one cannot say.
func publish(_, schemas map[string]any) { call.Require(schemas, "MoveClockInBody", "advance") }
