package payouts

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

type resolveWithdrawalIn struct {
	ID   string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_-]+$" example:"wdr_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Body WithdrawalResolution
}

// WithdrawalResolution is how the operator resolves a withdrawal.
type WithdrawalResolution struct {
	_         struct{} `additionalProperties:"false"`
	Outcome   pay.Word `json:"outcome" enum:"paid,not-paid,returned" example:"paid"`
	Note      string   `json:"note" text:"lines" minLength:"1" maxLength:"1000" example:"the bank's statement of today" doc:"How you know; it is kept in the audit log"`
	Force     bool     `json:"force,omitempty" doc:"Resolve it even if the payout provider says otherwise"`
	Amount    string   `json:"amount,omitempty" maxLength:"40" example:"120.50" doc:"Of returned: what came back, in units of the currency that arrived. Without it, all that is left"`
	Reference string   `json:"reference,omitempty" maxLength:"200" example:"E12345678202611231030abcdefghijk" doc:"The bank's or the network's reference of the payout, if it arrived; of returned, of the return, which is booked once"`
}

type resolvedWithdrawalOut struct{ Body shape.ResolvedWithdrawal }

func (a *api) resolutionRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Endings"}}
	}
	conflict := []problem.Code{problem.ConflictState}
	call.Handle(a.API, operators.Payouts, op("resolveWithdrawal", http.MethodPost, "/withdrawals/{id}/resolution", "Resolve a withdrawal whose payout provider does not report how it ended",
		"The provider is queried first, if possible. `paid` completes it, `not-paid` returns the money to the balance, and `returned` books what came back of a completed one, in one or more parts."), conflict, a.resolveWithdrawal)
}

func (a *api) resolveWithdrawal(ctx context.Context, by audit.Actor, in *resolveWithdrawalIn) (*resolvedWithdrawalOut, error) {
	w, said, err := a.Uses.Payouts.ResolveWithdrawal(ctx, by, base.Resolution{ID: in.ID, Word: in.Body.Outcome, Note: in.Body.Note, Force: in.Body.Force, Reference: in.Body.Reference, Amount: in.Body.Amount})
	if err != nil {
		return nil, err
	}
	return &resolvedWithdrawalOut{shape.ResolvedWithdrawal{ID: w.ID, Status: w.Status, Provider: said}}, nil
}
