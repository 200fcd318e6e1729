package settlements

import (
	"context"
	"net/http"
	"strconv"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/danielgtaylor/huma/v2"
)

// SettlementPath names a settlement.
type SettlementPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9-]+$" example:"STL-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

type settlementsIn struct {
	call.PageQuery
	MerchantID string               `query:"merchantId" maxLength:"64" doc:"Only settlements of this merchant"`
	Status     pay.SettlementStatus `query:"status" enum:"open,closed,paid" doc:"Only settlements with this status"`
}

type settlementsOut struct {
	Body struct {
		Data       []shape.OperatorSettlement `json:"data"`
		Pagination call.Cursor                `json:"pagination"`
	}
}

type settlementOut struct{ Body shape.OperatorSettlement }

type settlementLinesIn struct {
	SettlementPath
	call.PageQuery
}

type settlementLinesOut struct {
	Body struct {
		Data       []view.SettlementLine `json:"data"`
		Pagination call.Cursor           `json:"pagination"`
	}
}

type paySettlementIn struct {
	SettlementPath
	Body SettlementPayment
}

// SettlementPayment is how the operator paid a settlement.
type SettlementPayment struct {
	_         struct{} `additionalProperties:"false"`
	Reference string   `json:"reference" minLength:"1" maxLength:"200" doc:"What the bank calls your transfer"`
	Amount    string   `json:"amount,omitempty" maxLength:"20" example:"120.50" doc:"USD that you paid; left out: all that is left of the settlement"`
	WalletID  string   `json:"walletId,omitempty" maxLength:"64" doc:"Where the money went; left out: the default wallet of the merchant's first shop"`
	Note      string   `json:"note,omitempty" text:"lines" maxLength:"1000" doc:"For the audit log"`
}

type paidSettlementOut struct{ Body shape.PaidSettlement }

func (a *api) settlementRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Settlements"}}
	}
	call.Handle(a.API, operators.View, op("listSettlements", http.MethodGet, "/settlements", "List settlements of all merchants", "Newest first."), nil, a.settlements)
	call.Handle(a.API, operators.View, op("getSettlement", http.MethodGet, "/settlements/{id}", "Read a settlement", "With what the merchant has available."), nil, a.settlement)
	call.Handle(a.API, operators.View, op("listSettlementLines", http.MethodGet, "/settlements/{id}/lines", "List the lines of a settlement", "In their order."), nil, a.settlementLines)
	call.Handle(a.API, operators.Settlements, call.Creates(op("paySettlement", http.MethodPost, "/settlements/{id}/payments", "Book that you have paid a closed settlement by hand",
		"A withdrawal that is made and completed at once: it takes the money from the merchant's available balance.")),
		[]problem.Code{problem.ConflictState, problem.SettlementAlreadyPaid, problem.BalanceInsufficient}, a.paySettlement)
}

func (a *api) settlements(ctx context.Context, _ audit.Actor, in *settlementsIn) (*settlementsOut, error) {
	list, err := a.Uses.Lists.Settlements(ctx, in.MerchantID, in.Status, in.Rows())
	if err != nil {
		return nil, err
	}
	out := &settlementsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, func(s pay.Settlement) string { return s.ID }, func(s pay.Settlement) shape.OperatorSettlement {
		return shape.NewOperatorSettlement(s, a.Uses.CheckoutURL)
	})
	return out, nil
}

func (a *api) settlement(ctx context.Context, _ audit.Actor, in *SettlementPath) (*settlementOut, error) {
	s, _, err := a.Uses.Settlements.AnySettlement(ctx, in.ID, 0)
	if err != nil {
		return nil, err
	}
	cents, err := a.Uses.Settlements.Available(ctx, s.Scope)
	shown := shape.NewOperatorSettlement(s, a.Uses.CheckoutURL)
	available := view.USD(cents)
	shown.Available = &available
	return &settlementOut{shown}, err
}

func (a *api) settlementLines(ctx context.Context, _ audit.Actor, in *settlementLinesIn) (*settlementLinesOut, error) {
	s, _, err := a.Uses.Settlements.AnySettlement(ctx, in.ID, 0)
	if err != nil {
		return nil, err
	}
	list, _, err := a.Uses.Settlements.SettlementLines(ctx, s.Scope, s, in.Rows())
	if err != nil {
		return nil, err
	}
	out := &settlementLinesOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, func(l pay.SettlementLine) string { return strconv.FormatInt(l.Number, 10) }, view.NewSettlementLine)
	return out, nil
}

func (a *api) paySettlement(ctx context.Context, by audit.Actor, in *paySettlementIn) (*paidSettlementOut, error) {
	b := in.Body
	n := payouts.HandPayment{Settlement: in.ID, Wallet: b.WalletID, Reference: b.Reference, Note: b.Note}
	if b.Amount != "" {
		var err error
		if n.Amount, err = money.Parse(b.Amount, money.USD); err != nil {
			return nil, message.FieldRefusal(problem.InvalidRequest, "amount", "amount must be an amount of USD, such as 120.50")
		}
	}
	s, w, err := a.Uses.Payouts.PaySettlement(ctx, by, n)
	if err != nil {
		return nil, err
	}
	return &paidSettlementOut{shape.PaidSettlement{Settlement: shape.NewOperatorSettlement(s, a.Uses.CheckoutURL), Withdrawal: shape.NewOpenWithdrawal(w)}}, nil
}
