// Package payments has the operators' operations on payments whose outcome is not known.
package payments

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

type resolvePaymentIn struct {
	ID   string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9-]+$" example:"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Body PaymentResolution
}

// PaymentResolution is how the operator resolves a payment.
type PaymentResolution struct {
	_       struct{} `additionalProperties:"false"`
	Outcome pay.Word `json:"outcome" enum:"paid,not-charged" example:"paid"`
	Note    string   `json:"note" text:"lines" minLength:"1" maxLength:"1000" example:"the provider's report of today" doc:"How you know; it is kept in the audit log"`
	Force   bool     `json:"force,omitempty" doc:"Resolve it even if the provider says otherwise"`
}

type resolvedPaymentOut struct{ Body shape.ResolvedPayment }

type unsureIn struct{ call.PageQuery }

type unsureOut struct {
	Body struct {
		Data       []shape.UnsurePayment `json:"data"`
		Pagination call.Cursor           `json:"pagination"`
	}
}

type api struct {
	*call.API
	payments *payments.Payments
}

// Register registers the operations.
func Register(to *call.API, of *payments.Payments) {
	a := &api{to, of}
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Endings"}}
	}
	conflict := []problem.Code{problem.ConflictState}
	call.Handle(a.API, operators.View, op("listUnsurePayments", http.MethodGet, "/payments/unsure", "List payments whose outcome is unknown",
		"Oldest first, at most 500."), nil, a.unsure)
	call.Handle(a.API, operators.Payments, op("resolvePayment", http.MethodPost, "/payments/{id}/resolution", "Resolve a payment whose provider does not report how it ended",
		"The provider is queried first, if possible. `paid` completes the payment, or books late money if it had ended; `not-charged` ends it."), conflict, a.resolvePayment)
}

// unsureLimit bounds the list.
const unsureLimit = 500

func (a *api) unsure(ctx context.Context, _ audit.Actor, in *unsureIn) (*unsureOut, error) {
	list, err := a.payments.Unsure(ctx, unsureLimit)
	if err != nil {
		return nil, err
	}
	place := func(p pay.Payment) string { return call.Sortable(p.Times.Unsure) + " " + p.ID }
	list = call.Cut(in.PageQuery, list, place)
	out := &unsureOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, place, shape.NewUnsurePayment)
	return out, nil
}

func (a *api) resolvePayment(ctx context.Context, by audit.Actor, in *resolvePaymentIn) (*resolvedPaymentOut, error) {
	p, said, err := a.payments.Resolve(ctx, by, base.Resolution{ID: in.ID, Word: in.Body.Outcome, Note: in.Body.Note, Force: in.Body.Force})
	if err != nil {
		return nil, err
	}
	return &resolvedPaymentOut{shape.ResolvedPayment{ID: p.ID, Status: p.Status, Provider: said}}, nil
}
