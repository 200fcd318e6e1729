package admin

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

type adaptersOut struct {
	Body struct {
		Data []shape.Adapter `json:"data"`
	}
}

type paymentIn struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9-]+$" example:"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

type explanationOut struct{ Body shape.Explanation }

type healthOut struct{ Body shape.Health }

type storyIn struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6" doc:"Of a payment, a withdrawal, a claim or a merchant"`

	From        string                `query:"from" format:"date-time" doc:"Of a merchant, the start of the period; 31 days ago if it is left out"`
	To          string                `query:"to" format:"date-time" doc:"Of a merchant, the end of the period; now if it is left out"`
	Environment merchants.Environment `query:"environment" enum:"production,sandbox" doc:"Of a merchant; production if it is left out"`
	Each        bool                  `query:"each" doc:"Of a merchant: each capture, not one line for those of a day"`
}

type storyOut struct {
	Body struct {
		ID   string `json:"id"`
		Text string `json:"text" doc:"For people: attempts, transfers with their postings, events, deliveries"`
	}
}

func (a *API) readRoutes() {
	handle(a, operators.View, huma.Operation{OperationID: "listAdapters", Method: http.MethodGet, Path: "/adapters", Tags: []string{"Accounts"},
		Summary: "List the providers that accounts can be opened at", Description: "Each with the credentials that it needs and the rails that it has."}, nil, a.adapters)
	handle(a, operators.View, huma.Operation{OperationID: "explainPayment", Method: http.MethodGet, Path: "/payments/{id}/explanation", Tags: []string{"Routing"},
		Summary: "Explain why a payment went to its accounts", Description: "Each attempt as it was recorded then, and whether each account would accept such a payment now."},
		nil, a.explanation)
	handle(a, operators.View, heavy(huma.Operation{OperationID: "getStory", Method: http.MethodGet, Path: "/stories/{id}", Tags: []string{"Books"},
		Summary: "Read everything that is kept of a payment, a withdrawal or a claim, or what moved the money of a merchant", Description: "As text, for people."}), nil, a.story)
	handle(a, operators.View, huma.Operation{OperationID: "getHealth", Method: http.MethodGet, Path: "/health", Tags: []string{"Routing"},
		Summary: "Show the health of the accounts, as this node sees it", Description: "Each node knows only its own calls, and forgets them at a restart: ask each node."}, nil, a.health)
}

func (a *API) adapters(context.Context, audit.Actor, *struct{}) (*adaptersOut, error) {
	out := &adaptersOut{}
	out.Body.Data = make([]shape.Adapter, 0, len(a.Uses.Adapters))
	for _, adapter := range a.Uses.Adapters {
		out.Body.Data = append(out.Body.Data, shape.NewAdapter(adapter))
	}
	return out, nil
}

func (a *API) explanation(ctx context.Context, _ audit.Actor, in *paymentIn) (*explanationOut, error) {
	e, err := a.Uses.Rules.Explain(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &explanationOut{shape.NewExplanation(e)}, nil
}

// storySpan is the period of a merchant's story if none is given.
const storySpan = 31 * 24 * time.Hour

func (a *API) story(ctx context.Context, _ audit.Actor, in *storyIn) (*storyOut, error) {
	out := &storyOut{}
	out.Body.ID = in.ID
	if !strings.HasPrefix(in.ID, merchants.MerchantPrefix) {
		text, err := a.Uses.Stories(ctx, in.ID)
		out.Body.Text = text
		return out, err
	}
	period := lists.Span{From: a.Uses.Now().Add(-storySpan)}
	for _, t := range []struct {
		text string
		into *time.Time
	}{{in.From, &period.From}, {in.To, &period.To}} {
		if t.text == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339, t.text)
		if err != nil {
			return nil, message.Refusal(problem.InvalidRequest, "from and to are times, such as 2026-11-21T15:00:00Z")
		}
		*t.into = at
	}
	if !period.To.IsZero() && !period.From.Before(period.To) {
		return nil, message.FieldRefusal(problem.InvalidRequest, "from", "from must be before to")
	}
	text, err := a.Uses.Settlements.Story(ctx, merchants.Scope{Merchant: in.ID, Live: in.Environment != merchants.Sandbox}, period, in.Each)
	out.Body.Text = text
	return out, err
}

func (a *API) health(context.Context, audit.Actor, *struct{}) (*healthOut, error) {
	return &healthOut{shape.NewHealth(a.Node, a.Uses.Providers.Health(), a.Now())}, nil
}
