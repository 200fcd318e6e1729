package api

import (
	"context"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
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
		return []error{wire.Coded(problem.MissingField, below(prefix, "body", "advance"), "advance is required")}
	}
	by, ok := merchants.ParseDuration(in.Body.Advance)
	if in.by = by; !ok {
		return []error{wire.Coded(problem.InvalidRequest, below(prefix, "body", "advance"), "advance must be a duration such as 90s, 48h or 7d")}
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

func (a *API) clockRoutes() {
	tags := []string{"Sandbox"}
	handle(a, huma.Operation{OperationID: "getClock", Method: http.MethodGet, Path: "/sandbox/clock", Tags: tags,
		Summary: "Read the sandbox's test clock"}, toRead, a.clock)
	handle(a, huma.Operation{OperationID: "advanceClock", Method: http.MethodPost, Path: "/sandbox/clock", Tags: tags,
		Summary: "Move the sandbox's test clock forward", DefaultStatus: http.StatusOK}, toPlay, a.moveClock)
	handle(a, huma.Operation{OperationID: "getSandbox", Method: http.MethodGet, Path: "/sandbox/settings", Tags: tags,
		Summary: "Read the settings of the sandbox"}, toRead, a.settings)
	handle(a, huma.Operation{OperationID: "setSandbox", Method: http.MethodPatch, Path: "/sandbox/settings", Tags: tags,
		Summary: "Make the sandbox strict, or lenient again"}, toPlay, a.set)
}

func (a *API) settings(ctx context.Context, call Call, _ *struct{}) (*settingsOut, error) {
	m, err := a.uses.Sandbox.Settings(ctx, call.Principal)
	out := &settingsOut{}
	out.Body.Strict = m.Strict
	return out, err
}

func (a *API) set(ctx context.Context, call Call, in *settingsIn) (*settingsOut, error) {
	if in.Body.Strict == nil {
		return a.settings(ctx, call, nil)
	}
	m, err := a.uses.Sandbox.SetSandbox(ctx, call.Principal, *in.Body.Strict)
	out := &settingsOut{}
	out.Body.Strict = m.Strict
	return out, err
}

func (a *API) clock(ctx context.Context, call Call, _ *struct{}) (*clockOut, error) {
	c, now, err := a.uses.Sandbox.Clock(ctx, call.Scope)
	return &clockOut{view.NewClock(c, now)}, err
}

func (a *API) moveClock(ctx context.Context, call Call, in *moveClockIn) (*clockOut, error) {
	c, now, err := a.uses.Sandbox.MoveClock(ctx, call.Principal, in.by)
	return &clockOut{view.NewClock(c, now)}, err
}
