package accounts

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
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

func (a *api) healthRoutes() {
	call.Handle(a.API, operators.View, huma.Operation{OperationID: "listAdapters", Method: http.MethodGet, Path: "/adapters", Tags: []string{"Accounts"},
		Summary: "List the providers that accounts can be opened at", Description: "Each with the credentials that it needs and the rails that it has."}, nil, a.adapters)
	call.Handle(a.API, operators.View, huma.Operation{OperationID: "explainPayment", Method: http.MethodGet, Path: "/payments/{id}/explanation", Tags: []string{"Routing"},
		Summary: "Explain why a payment went to its accounts", Description: "Each attempt as it was recorded then, and whether each account would accept such a payment now."},
		nil, a.explanation)
	call.Handle(a.API, operators.View, huma.Operation{OperationID: "getHealth", Method: http.MethodGet, Path: "/health", Tags: []string{"Routing"},
		Summary: "Show the health of the accounts, as this node sees it", Description: "Each node knows only its own calls, and forgets them at a restart: ask each node."}, nil, a.health)
}

func (a *api) adapters(context.Context, audit.Actor, *struct{}) (*adaptersOut, error) {
	out := &adaptersOut{}
	out.Body.Data = make([]shape.Adapter, 0, len(a.Uses.Adapters))
	for _, adapter := range a.Uses.Adapters {
		out.Body.Data = append(out.Body.Data, shape.NewAdapter(adapter))
	}
	return out, nil
}

func (a *api) explanation(ctx context.Context, _ audit.Actor, in *paymentIn) (*explanationOut, error) {
	e, err := a.Uses.Rules.Explain(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &explanationOut{shape.NewExplanation(e)}, nil
}

func (a *api) health(context.Context, audit.Actor, *struct{}) (*healthOut, error) {
	return &healthOut{shape.NewHealth(a.Node, a.Uses.Providers.Health(), a.Now())}, nil
}
