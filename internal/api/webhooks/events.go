package webhooks

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/cascadapay/cascada/internal/api/call"
	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

type eventsIn struct {
	wire.Page
	Type     wire.Word[webhooks.EventType] `query:"type" doc:"Event name"`
	ObjectID string                        `query:"objectId" doc:"What the events are about: a transaction, a claim, a settlement, a withdrawal, a wallet or a checkout session"`
	wire.Span
}

func (in *eventsIn) filter() lists.EventFilter {
	f := lists.EventFilter{Page: in.Rows(), Span: in.Time(), Object: in.ObjectID}
	if in.Type != "" {
		f.Types = []webhooks.EventType{webhooks.EventType(in.Type)}
	}
	return f
}

type eventsOut struct {
	Body struct {
		Data       []view.EventBody `json:"data"`
		Pagination wire.Pagination  `json:"pagination"`
	}
}

type eventOut struct{ Body view.EventBody }

type replaySpanIn struct {
	ID             string `path:"id"`
	IdempotencyKey string `header:"Idempotency-Key" doc:"1 to 255 printable characters; a repeat gets the replay that the first request began"`
	RawBody        []byte
	Body           struct {
		From  string   `json:"from,omitempty" example:"2026-11-20T08:00:00Z" doc:"Events that happened at this time or later: a date or a date-time, in UTC if it names no zone"`
		To    string   `json:"to,omitempty" doc:"Events that happened before this time; now by default"`
		Types []string `json:"types,omitempty" maxItems:"50" doc:"Event names; by default all that the webhook gets"`
	}
	asked webhooks.Replay
}

// Resolve reads the time and the types.
func (in *replaySpanIn) Resolve(_ huma.Context, prefix *huma.PathBuffer) (issues []error) {
	issues = call.CheckKey(in.IdempotencyKey)
	if in.Body.From == "" {
		issues = append(issues, wire.Coded(problem.MissingField, call.Below(prefix, "body", "from"), "from is required"))
	}
	span, wrong := wire.Between(in.Body.From, in.Body.To)
	in.asked.From, in.asked.To, issues = span.From, span.To, append(issues, wrong...)
	for i, t := range in.Body.Types {
		if !slices.Contains(webhooks.EventTypes(), webhooks.EventType(t)) {
			issues = append(issues, wire.Coded(problem.InvalidRequest, fmt.Sprintf("%s[%d]", call.Below(prefix, "body", "types"), i), message.Text(appwebhooks.NotEvent(t))))
			break
		}
		in.asked.Types = append(in.asked.Types, webhooks.EventType(t))
	}
	slices.Sort(in.asked.Types)
	in.asked.Types = slices.Compact(in.asked.Types)
	return issues
}

type replaySpanOut struct{ Body view.SpanReplay }

type replaysIn struct {
	ID string `path:"id"`
	wire.Page
}

type replaysOut struct {
	Body struct {
		Data       []view.SpanReplay `json:"data"`
		Pagination wire.Pagination   `json:"pagination"`
	}
}

type replayIn struct {
	ID       string `path:"id"`
	ReplayID string `path:"replayId"`
}

func (a *api) eventRoutes() {
	tags := []string{"Webhooks"}
	call.Handle(a.API, huma.Operation{OperationID: "listEvents", Method: http.MethodGet, Path: "/events", Tags: tags,
		Summary: "List events, newest first"}, call.ToRead, call.InShop(a.API, a.events))
	call.Handle(a.API, huma.Operation{OperationID: "getEvent", Method: http.MethodGet, Path: "/events/{id}", Tags: tags,
		Summary: "Read an event as it is sent"}, call.ToRead, call.InShop(a.API, a.event))
	call.Handle(a.API, huma.Operation{OperationID: "replayEvents", Method: http.MethodPost, Path: "/webhooks/{id}/replay", Tags: tags,
		Summary: "Send the events of a period again", DefaultStatus: http.StatusOK}, call.ToNotify, call.InShop(a.API, a.replaySpan))
	call.Handle(a.API, huma.Operation{OperationID: "getReplay", Method: http.MethodGet, Path: "/webhooks/{id}/replays/{replayId}", Tags: tags,
		Summary: "Read how far a replay has come"}, call.ToRead, call.InShop(a.API, a.replaying))
	call.Handle(a.API, huma.Operation{OperationID: "listReplays", Method: http.MethodGet, Path: "/webhooks/{id}/replays", Tags: tags,
		Summary: "List the replays to a webhook, newest first"}, call.ToRead, call.InShop(a.API, a.replays))
	call.Handle(a.API, huma.Operation{OperationID: "stopReplay", Method: http.MethodPost, Path: "/webhooks/{id}/replays/{replayId}/stop", Tags: tags,
		Summary: "Stop a replay", DefaultStatus: http.StatusOK}, call.ToNotify, call.InShop(a.API, a.stopReplay))
}

func (a *api) events(ctx context.Context, caller call.Caller, in *eventsIn) (*eventsOut, error) {
	list, total, err := a.uses.Events.List(ctx, caller.Scope, in.filter())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &eventsOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(e pay.ToldEvent) string { return e.ID },
		func(e pay.ToldEvent) view.EventBody { return e.Payload })
	return out, nil
}

func (a *api) event(ctx context.Context, caller call.Caller, in *call.IDPath) (*eventOut, error) {
	e, err := a.uses.Events.Get(ctx, caller.Scope, in.ID)
	if err != nil {
		return nil, err
	}
	return &eventOut{e.Payload}, nil
}

func (a *api) replaySpan(ctx context.Context, caller call.Caller, in *replaySpanIn) (*replaySpanOut, error) {
	n := appwebhooks.NewReplay{Replay: in.asked}
	if in.IdempotencyKey != "" {
		n.Idempotency = call.OnceFor("POST /webhooks/"+in.ID+"/replay", in.IdempotencyKey, in.RawBody, "")
	}
	r, err := a.uses.Replays.Begin(ctx, caller.Principal, caller.Scope, in.ID, n)
	if err != nil {
		return nil, err
	}
	return &replaySpanOut{view.NewSpanReplay(r)}, nil
}

func (a *api) replaying(ctx context.Context, caller call.Caller, in *replayIn) (*replaySpanOut, error) {
	r, err := a.uses.Replays.Get(ctx, caller.Scope, in.ID, in.ReplayID)
	if err != nil {
		return nil, err
	}
	return &replaySpanOut{view.NewSpanReplay(r)}, nil
}

func (a *api) replays(ctx context.Context, caller call.Caller, in *replaysIn) (*replaysOut, error) {
	list, total, err := a.uses.Replays.List(ctx, caller.Scope, in.ID, in.Rows())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &replaysOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(r webhooks.Replay) string { return r.ID }, view.NewSpanReplay)
	return out, nil
}

func (a *api) stopReplay(ctx context.Context, caller call.Caller, in *replayIn) (*replaySpanOut, error) {
	r, err := a.uses.Replays.Stop(ctx, caller.Principal, caller.Scope, in.ID, in.ReplayID)
	if err != nil {
		return nil, err
	}
	return &replaySpanOut{view.NewSpanReplay(r)}, nil
}
