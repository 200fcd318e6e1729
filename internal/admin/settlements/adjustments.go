package settlements

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

type adjustmentIn struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"adj_0000000000AJ0Y3ZK9VQ4T4R1M"`
}

type adjustmentsIn struct {
	call.PageQuery
	Merchant string               `query:"merchantId" maxLength:"64" doc:"Only adjustments of this merchant"`
	Status   pay.AdjustmentStatus `query:"status" enum:"pending,applied,rejected" doc:"Only adjustments with this status"`
}

type createAdjustmentIn struct{ Body AdjustmentOrder }

// AdjustmentOrder is an adjustment that an operator makes.
type AdjustmentOrder struct {
	_             struct{}              `additionalProperties:"false"`
	MerchantID    string                `json:"merchantId" minLength:"1" maxLength:"64" example:"mer_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Environment   merchants.Environment `json:"environment,omitempty" enum:"sandbox,production" doc:"production by default"`
	Amount        string                `json:"amount" maxLength:"20" example:"-12.50" doc:"USD as text; above zero the merchant gets it, below zero the merchant pays it"`
	Reason        pay.AdjustmentReason  `json:"reason" enum:"goodwill,fee_correction,provider_refund,late_cash_returned,payout_returned_in_part,wrong_amount,write_off,debt_paid_in,other" example:"goodwill" doc:"The merchant reads it"`
	Note          string                `json:"note" text:"lines" minLength:"1" maxLength:"1000" example:"the delay of last week" doc:"Why; the merchant reads it"`
	About         string                `json:"about,omitempty" maxLength:"200" doc:"The payment, claim, withdrawal, settlement or notification that it is about"`
	Reference     string                `json:"reference" minLength:"1" maxLength:"200" example:"ticket 4711" doc:"Your own name of it. Each is booked once: a repeat returns what the first made"`
	AllowNegative bool                  `json:"allowNegative,omitempty" doc:"It may take the available balance below zero"`
}

type reverseAdjustmentIn struct {
	ID   string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"adj_0000000000AJ0Y3ZK9VQ4T4R1M"`
	Body AdjustmentReversal
}

// AdjustmentReversal takes an adjustment back.
type AdjustmentReversal struct {
	_             struct{} `additionalProperties:"false"`
	Note          string   `json:"note" text:"lines" minLength:"1" maxLength:"1000" example:"it was another merchant's" doc:"Why; the merchant reads it"`
	AllowNegative bool     `json:"allowNegative,omitempty" doc:"It may take the available balance below zero"`
}

type rejectAdjustmentIn struct {
	ID   string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"adj_0000000000AJ0Y3ZK9VQ4T4R1M"`
	Body AdjustmentRejection
}

// AdjustmentRejection says why a second operator rejects an adjustment.
type AdjustmentRejection struct {
	_    struct{} `additionalProperties:"false"`
	Note string   `json:"note" text:"lines" minLength:"1" maxLength:"1000" example:"the amount is wrong" doc:"Why; it is kept in the audit log"`
}

type adjustmentOut struct{ Body shape.Adjustment }

type adjustmentsOut struct {
	Body struct {
		Data       []shape.Adjustment `json:"data"`
		Pagination call.Cursor        `json:"pagination"`
	}
}

func (a *api) adjustmentRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Adjustments"}}
	}
	none, decided := []problem.Code{problem.NotFound}, []problem.Code{problem.NotFound, problem.ConflictState, problem.BalanceInsufficient}
	call.Handle(a.API, operators.View, op("listAdjustments", http.MethodGet, "/adjustments", "List adjustments", "Newest first."), nil, a.adjustments)
	call.Handle(a.API, operators.View, op("getAdjustment", http.MethodGet, "/adjustments/{id}", "Read an adjustment", "With the adjustment that reversed it, if one did."), none, a.adjustment)
	call.Handle(a.API, operators.Adjustments, call.Repeatable(op("createAdjustment", http.MethodPost, "/adjustments", "Credit or debit a merchant's balance",
		"For what no other operation books. Above the limit for approvals it waits for a second operator.")),
		[]problem.Code{problem.MerchantNotFound, problem.ConflictState, problem.BalanceInsufficient, problem.AmountInvalid, problem.MissingField}, a.createAdjustment)
	call.Handle(a.API, operators.Adjustments, op("approveAdjustment", http.MethodPost, "/adjustments/{id}/approve", "Approve an adjustment that waits for a second operator", "Its money moves at once. The operator who made it cannot approve it."), decided, a.approveAdjustment)
	call.Handle(a.API, operators.Adjustments, op("rejectAdjustment", http.MethodPost, "/adjustments/{id}/reject", "Reject an adjustment that waits for a second operator", "Nothing moves. Its reference may be used again for exactly the same adjustment only."),
		[]problem.Code{problem.NotFound, problem.ConflictState}, a.rejectAdjustment)
	call.Handle(a.API, operators.Adjustments, call.Repeatable(op("reverseAdjustment", http.MethodPost, "/adjustments/{id}/reverse", "Take an adjustment back, by another one",
		"It is the exact opposite and names the first. There is one at most.")), decided, a.reverseAdjustment)
}

func (a *api) adjustments(ctx context.Context, _ audit.Actor, in *adjustmentsIn) (*adjustmentsOut, error) {
	list, err := a.Uses.Lists.Adjustments(ctx, in.Merchant, in.Status, in.Rows())
	if err != nil {
		return nil, err
	}
	out := &adjustmentsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, func(one pay.Adjustment) string { return one.ID }, func(one pay.Adjustment) shape.Adjustment { return shape.NewAdjustment(one, "") })
	return out, nil
}

func (a *api) adjustment(ctx context.Context, _ audit.Actor, in *adjustmentIn) (*adjustmentOut, error) {
	one, err := a.Uses.Adjustments.Any(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	reversed, err := a.Uses.Adjustments.ReversedBy(ctx, one)
	return &adjustmentOut{shape.NewAdjustment(one, reversed)}, err
}

func (a *api) createAdjustment(ctx context.Context, by audit.Actor, in *createAdjustmentIn) (*adjustmentOut, error) {
	amount, err := settlements.AdjustmentAmount(in.Body.Amount)
	if err != nil {
		return nil, err
	}
	return adjusted(a.Uses.Adjustments.Make(ctx, by, settlements.NewAdjustment{
		Merchant: in.Body.MerchantID, Live: in.Body.Environment != merchants.EnvironmentOf(false), Amount: amount, Reason: in.Body.Reason, Note: in.Body.Note,
		About: in.Body.About, Reference: in.Body.Reference, Negative: in.Body.AllowNegative,
	}))
}

func adjusted(one pay.Adjustment, err error) (*adjustmentOut, error) {
	if err != nil {
		return nil, err
	}
	return &adjustmentOut{shape.NewAdjustment(one, "")}, nil
}

func (a *api) approveAdjustment(ctx context.Context, by audit.Actor, in *adjustmentIn) (*adjustmentOut, error) {
	return adjusted(a.Uses.Adjustments.Approve(ctx, by, in.ID))
}

func (a *api) rejectAdjustment(ctx context.Context, by audit.Actor, in *rejectAdjustmentIn) (*adjustmentOut, error) {
	return adjusted(a.Uses.Adjustments.Reject(ctx, by, in.ID, in.Body.Note))
}

func (a *api) reverseAdjustment(ctx context.Context, by audit.Actor, in *reverseAdjustmentIn) (*adjustmentOut, error) {
	return adjusted(a.Uses.Adjustments.Reverse(ctx, by, in.ID, in.Body.Note, in.Body.AllowNegative))
}
