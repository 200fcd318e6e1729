package payouts

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// LimitsPath names limits of payouts.
type LimitsPath struct {
	Environment merchants.Environment `path:"environment" enum:"sandbox,production"`
	MerchantID  string                `query:"merchantId" maxLength:"64" doc:"Of this merchant; left out: of all merchants together"`
}

type limitsOut struct{ Body shape.PayoutLimits }

type allLimitsIn struct{ call.PageQuery }

type allLimitsOut struct {
	Body struct {
		Data       []shape.PayoutLimits `json:"data"`
		Pagination call.Cursor          `json:"pagination"`
	}
}

type changeLimitsIn struct {
	LimitsPath
	Body LimitsBody
}

// LimitsBody changes limits of payouts. Amounts are USD as text.
type LimitsBody struct {
	_             struct{} `additionalProperties:"false"`
	ApprovalAbove *string  `json:"approvalAbove,omitempty" maxLength:"20" example:"5000" doc:"A larger withdrawal waits for an operator; 0: none waits"`
	Hourly        *string  `json:"hourly,omitempty" maxLength:"20" example:"0" doc:"0: no limit"`
	Daily         *string  `json:"daily,omitempty" maxLength:"20" example:"20000" doc:"0: no limit"`
	Schedule      *string  `json:"schedule,omitempty" enum:"plan,automatic,on_request" doc:"Of a merchant. plan: as its price plan says; automatic: pay the net of each settlement out; on_request: the merchant withdraws"`
	Minimum       *string  `json:"minimum,omitempty" maxLength:"20" example:"100" doc:"Of automatic payouts; 0: as the plan says"`
	Days          *string  `json:"days,omitempty" maxLength:"40" example:"mon,thu" doc:"Of automatic payouts: days of the week in UTC; an empty text: as the plan says"`
}

type stopPayoutsIn struct {
	LimitsPath
	Body StopBody
}

// StopBody says why payouts are stopped.
type StopBody struct {
	_      struct{} `additionalProperties:"false"`
	Reason string   `json:"reason" minLength:"1" maxLength:"200" example:"a key was stolen"`
}

// WithdrawalPath names a withdrawal.
type WithdrawalPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"wdr_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

type withdrawalsIn struct{ call.PageQuery }

type withdrawalsOut struct {
	Body struct {
		Data       []shape.OpenWithdrawal `json:"data"`
		Pagination call.Cursor            `json:"pagination"`
	}
}

type withdrawalToPayOut struct{ Body shape.WithdrawalToPay }

type openWithdrawalOut struct{ Body shape.OpenWithdrawal }

type payoutExplanationOut struct{ Body shape.PayoutExplanation }

type approveWithdrawalIn struct {
	WithdrawalPath
	Body WithdrawalApproval
}

// WithdrawalApproval says why a withdrawal passes the limits.
type WithdrawalApproval struct {
	_    struct{} `additionalProperties:"false"`
	Note string   `json:"note" text:"lines" minLength:"1" maxLength:"1000" example:"confirmed by phone" doc:"For the audit log"`
}

func (a *api) limitRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Payouts"}}
	}
	missing := []problem.Code{problem.ConflictState}
	call.Handle(a.API, operators.View, op("listPayoutLimits", http.MethodGet, "/payout-limits", "List the limits of payouts that were set", "Of all merchants together, and of each."), nil, a.allLimits)
	call.Handle(a.API, operators.View, op("getPayoutLimits", http.MethodGet, "/payout-limits/{environment}", "Read the limits of payouts", "Of a merchant, or of all merchants together. Both apply."), nil, a.limits)
	call.Handle(a.API, operators.Limits, op("changePayoutLimits", http.MethodPatch, "/payout-limits/{environment}", "Change the limits of payouts", "Fields that are not given stay the same."), missing, a.changeLimits)
	call.Handle(a.API, operators.Limits, op("stopPayouts", http.MethodPost, "/payout-limits/{environment}/stop", "Send no more withdrawals", "Those that were sent go on. It needs no second person."), nil, a.stopPayouts)
	call.Handle(a.API, operators.Limits, op("resumePayouts", http.MethodPost, "/payout-limits/{environment}/resume", "Send withdrawals again", "A repeat changes nothing."), missing, a.resumePayouts)
}

func (a *api) withdrawalRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Payouts"}}
	}
	call.Handle(a.API, operators.View, op("listSentWithdrawals", http.MethodGet, "/withdrawals/sent", "List withdrawals that were sent and have no known outcome yet", "Oldest first."), nil, a.sentWithdrawals)
	call.Handle(a.API, operators.View, op("listWaitingWithdrawals", http.MethodGet, "/withdrawals/waiting", "List withdrawals that are due but not sent, and what they wait for", "Oldest first."), nil, a.waitingWithdrawals)
	call.Handle(a.API, operators.Reveal, op("getWithdrawal", http.MethodGet, "/withdrawals/{id}", "Read a withdrawal with its destination", "To pay it by hand. The audit log has that you saw it."), nil, a.withdrawal)
	call.Handle(a.API, operators.View, op("explainWithdrawal", http.MethodGet, "/withdrawals/{id}/explanation", "Explain why a withdrawal went to its account", "And whether each account would pay it now."), nil, a.explainWithdrawal)
	call.Handle(a.API, operators.Payouts, op("approveWithdrawal", http.MethodPost, "/withdrawals/{id}/approve", "Let a withdrawal pass the limits", "It is sent at its next try."), []problem.Code{problem.ConflictState}, a.approveWithdrawal)
}

func (a *api) allLimits(ctx context.Context, _ audit.Actor, in *allLimitsIn) (*allLimitsOut, error) {
	list, err := a.Uses.Payouts.Controls(ctx)
	if err != nil {
		return nil, err
	}
	id := func(c pay.PayoutControl) string { return c.ID }
	list = call.Cut(in.PageQuery, list, id)
	out := &allLimitsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, id, shape.NewPayoutLimits)
	return out, nil
}

// limited shows limits.
func limited(c pay.PayoutControl, err error) (*limitsOut, error) {
	if err != nil {
		return nil, err
	}
	return &limitsOut{shape.NewPayoutLimits(c)}, nil
}

func (a *api) limits(ctx context.Context, _ audit.Actor, in *LimitsPath) (*limitsOut, error) {
	if in.MerchantID != "" {
		if _, err := a.Uses.AnyMerchant(ctx, in.MerchantID); err != nil {
			return nil, err
		}
	}
	live := in.Environment == merchants.Production
	c, err := a.Uses.Payouts.Control(ctx, in.MerchantID, live)
	c.Merchant, c.Live = in.MerchantID, live
	return limited(c, err)
}

// limit changes limits of payouts.
func (a *api) limit(ctx context.Context, by audit.Actor, in LimitsPath, change func(*pay.PayoutLimits)) (*limitsOut, error) {
	return limited(a.Uses.Payouts.LimitPayouts(ctx, by, in.MerchantID, in.Environment == merchants.Production, change))
}

func (a *api) changeLimits(ctx context.Context, by audit.Actor, in *changeLimitsIn) (*limitsOut, error) {
	b := in.Body
	if b == (LimitsBody{}) {
		return nil, message.Refusal(problem.InvalidRequest, "name what changes: approvalAbove, hourly, daily, schedule, minimum or days")
	}
	var changes []func(*pay.PayoutLimits)
	for _, f := range []struct {
		name string
		sent *string
		into func(*pay.PayoutLimits) *int64
	}{
		{"approvalAbove", b.ApprovalAbove, func(l *pay.PayoutLimits) *int64 { return &l.ApprovalAbove }},
		{"hourly", b.Hourly, func(l *pay.PayoutLimits) *int64 { return &l.Hourly }},
		{"daily", b.Daily, func(l *pay.PayoutLimits) *int64 { return &l.Daily }},
		{"minimum", b.Minimum, func(l *pay.PayoutLimits) *int64 { return &l.Minimum }},
	} {
		if f.sent == nil {
			continue
		}
		amount, err := money.Parse(*f.sent, money.USD)
		if err != nil || amount.IsNegative() {
			return nil, message.FieldRefusal(problem.InvalidRequest, f.name, f.name+" must be an amount of USD, such as 5000")
		}
		changes = append(changes, func(l *pay.PayoutLimits) { *f.into(l) = amount.Minor })
	}
	return a.limit(ctx, by, in.LimitsPath, func(l *pay.PayoutLimits) {
		for _, change := range changes {
			change(l)
		}
		if b.Schedule != nil {
			l.Schedule = pay.ParseSchedule(*b.Schedule)
		}
		if b.Days != nil {
			l.Days = *b.Days
		}
	})
}

func (a *api) stopPayouts(ctx context.Context, by audit.Actor, in *stopPayoutsIn) (*limitsOut, error) {
	return a.limit(ctx, by, in.LimitsPath, func(l *pay.PayoutLimits) { l.Stopped = in.Body.Reason })
}

func (a *api) resumePayouts(ctx context.Context, by audit.Actor, in *LimitsPath) (*limitsOut, error) {
	return a.limit(ctx, by, *in, func(l *pay.PayoutLimits) { l.Stopped = "" })
}

func (a *api) sentWithdrawals(ctx context.Context, _ audit.Actor, in *withdrawalsIn) (*withdrawalsOut, error) {
	list, err := a.Uses.Lists.Sent(ctx, in.Rows())
	return openWithdrawals(in.PageQuery, list, err)
}

func (a *api) waitingWithdrawals(ctx context.Context, _ audit.Actor, in *withdrawalsIn) (*withdrawalsOut, error) {
	list, err := a.Uses.Lists.Waiting(ctx, in.Rows())
	return openWithdrawals(in.PageQuery, list, err)
}

func openWithdrawals(page call.PageQuery, list []pay.Withdrawal, err error) (*withdrawalsOut, error) {
	if err != nil {
		return nil, err
	}
	out := &withdrawalsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(page, list, func(w pay.Withdrawal) string { return w.ID }, shape.NewOpenWithdrawal)
	return out, nil
}

func (a *api) withdrawal(ctx context.Context, by audit.Actor, in *WithdrawalPath) (*withdrawalToPayOut, error) {
	w, err := a.Uses.Payouts.RevealWithdrawal(ctx, by, in.ID)
	if err != nil {
		return nil, err
	}
	return &withdrawalToPayOut{shape.NewWithdrawalToPay(w)}, nil
}

func (a *api) explainWithdrawal(ctx context.Context, _ audit.Actor, in *WithdrawalPath) (*payoutExplanationOut, error) {
	e, err := a.Uses.Payouts.ExplainPayout(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &payoutExplanationOut{shape.NewPayoutExplanation(e)}, nil
}

func (a *api) approveWithdrawal(ctx context.Context, by audit.Actor, in *approveWithdrawalIn) (*openWithdrawalOut, error) {
	w, err := a.Uses.Payouts.ApproveWithdrawal(ctx, by, in.ID, in.Body.Note)
	if err != nil {
		return nil, err
	}
	return &openWithdrawalOut{shape.NewOpenWithdrawal(w)}, nil
}
