package api

import (
	"context"
	"net/http"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
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

// Resolve reads the duration. Absent is told apart from wrong.
func (in *moveClockIn) Resolve(_ huma.Context, prefix *huma.PathBuffer) []error {
	if in.Body.Advance == "" {
		return []error{wire.Coded(pay.CodeMissingField, prefix.With("body.advance"), "advance is required")}
	}
	by, ok := pay.ParseDuration(in.Body.Advance)
	if in.by = by; !ok {
		return []error{wire.Coded(pay.CodeInvalidRequest, prefix.With("body.advance"), "advance must be a duration such as 90s, 48h or 7d")}
	}
	return nil
}

type clockOut struct{ Body view.Clock }

func (a *API) clockRoutes() {
	tags := []string{"Sandbox"}
	handle(a, huma.Operation{OperationID: "getClock", Method: http.MethodGet, Path: "/sandbox/clock", Tags: tags,
		Summary: "Read the sandbox's test clock"}, toRead, a.clock)
	handle(a, huma.Operation{OperationID: "advanceClock", Method: http.MethodPost, Path: "/sandbox/clock", Tags: tags,
		Summary: "Move the sandbox's test clock forward", DefaultStatus: http.StatusOK}, toPlay, a.moveClock)
}

func (a *API) clock(ctx context.Context, call Call, _ *struct{}) (*clockOut, error) {
	c, now, err := a.app.Clock(ctx, call.Scope)
	return &clockOut{view.NewClock(c, now)}, err
}

func (a *API) moveClock(ctx context.Context, call Call, in *moveClockIn) (*clockOut, error) {
	c, now, err := a.app.MoveClock(ctx, call.Scope, in.by)
	return &clockOut{view.NewClock(c, now)}, err
}
