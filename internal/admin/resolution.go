package admin

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
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

type resolveClaimIn struct {
	ID   string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9-]+$" example:"CLM-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Body ClaimResolution
}

// ClaimResolution is how the operator resolves a claim.
type ClaimResolution struct {
	_       struct{}       `additionalProperties:"false"`
	Outcome claims.Outcome `json:"outcome" enum:"approved,rejected,withdrawn,returned" example:"approved" doc:"approved pays the shopper; rejected and withdrawn leave the money to the merchant; withdrawn of an inquiry is for another amount that never came; returned is for an approved refund whose money came back: a new claim takes it back"`
	Note    string         `json:"note" text:"lines" minLength:"1" maxLength:"1000" example:"the bank's letter of today" doc:"Why; the merchant reads it"`
	Force   bool           `json:"force,omitempty" doc:"Resolve it even if the provider says otherwise"`

	Keep     string `json:"keep,omitempty" maxLength:"20" pattern:"^[0-9]+([.][0-9]+)?$" example:"100.00" doc:"Of an approved inquiry: the part of its money that the merchant keeps, in its currency; the rest goes back"`
	Complete bool   `json:"complete,omitempty" doc:"The kept part completes its payment, which has to be open, and is the payment's amount"`
	ByHand   string `json:"byHand,omitempty" maxLength:"200" example:"E12345678202611231030abcdefghijk" doc:"Of an approved inquiry: the reference of the bank transfer by which you gave the money back; no provider is asked"`
}

type carryEvidenceIn struct {
	ID   string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9-]+$" example:"CLM-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Body CarriedEvidence
}

// CarriedEvidence says that the operator submitted a dispute's evidence.
type CarriedEvidence struct {
	_    struct{} `additionalProperties:"false"`
	Note string   `json:"note" text:"lines" minLength:"1" maxLength:"1000" example:"uploaded on Monday" doc:"When and how; the merchant reads it"`
}

type bookRefundIn struct {
	ID   string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9-]+$" example:"TXN-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
	Body RefundBooking
}

// RefundBooking is a refund that was made already.
type RefundBooking struct {
	_         struct{}   `additionalProperties:"false"`
	Amount    string     `json:"amount,omitempty" maxLength:"40" example:"49.90" doc:"In the transaction's local currency; all that is left if absent"`
	Reference string     `json:"reference" minLength:"1" maxLength:"128" example:"re_3Q9" doc:"The provider's id of the refund, or the bank's reference of the transfer. It is booked once"`
	Origin    pay.Origin `json:"origin" enum:"provider,operator" example:"provider" doc:"provider: the provider made it by itself; operator: you sent the money by hand"`
	Note      string     `json:"note" text:"lines" minLength:"1" maxLength:"1000" example:"the provider's report of today" doc:"How you know; the merchant reads it"`
}

type resolvedClaimOut struct{ Body shape.ResolvedClaim }

type resolvedPaymentOut struct{ Body shape.ResolvedPayment }

type resolvedWithdrawalOut struct{ Body shape.ResolvedWithdrawal }

type unsureIn struct{ PageQuery }

type unsureOut struct {
	Body struct {
		Data       []shape.UnsurePayment `json:"data"`
		Pagination Cursor                `json:"pagination"`
	}
}

func (a *API) rulingRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Endings"}}
	}
	conflict := []problem.Code{problem.ConflictState}
	handle(a, operators.View, op("listUnsurePayments", http.MethodGet, "/payments/unsure", "List payments whose outcome is unknown",
		"Oldest first, at most 500."), nil, a.unsure)
	handle(a, operators.Payments, op("resolvePayment", http.MethodPost, "/payments/{id}/resolution", "Resolve a payment whose provider does not report how it ended",
		"The provider is queried first, if possible. `paid` completes the payment, or books late money if it had ended; `not-charged` ends it."), conflict, a.resolvePayment)
	handle(a, operators.Claims, op("resolveClaim", http.MethodPost, "/claims/{id}/resolution", "Resolve a refund, a chargeback or an inquiry",
		"As the bank, the provider or you decided it. For a refund that is under way, the provider is queried first."), []problem.Code{problem.ConflictState, problem.ClaimAlreadyResolved}, a.resolveClaim)
	handle(a, operators.Cases, op("carryEvidence", http.MethodPost, "/claims/{id}/carried", "Say that you submitted the evidence of a dispute in the provider's panel",
		"It calls nobody. What the service would still send is not sent."), []problem.Code{problem.ConflictState, problem.ClaimAlreadyResolved}, a.carryEvidence)
	handle(a, operators.Claims, repeatable(op("bookRefund", http.MethodPost, "/payments/{id}/refunds", "Book a refund that was made already",
		"One that the provider made by itself, or that you made by hand. It calls nobody. The merchant's part is taken from `available`, which may fall below zero.")), []problem.Code{problem.ConflictState}, a.bookRefund)
	handle(a, operators.Payouts, op("resolveWithdrawal", http.MethodPost, "/withdrawals/{id}/resolution", "Resolve a withdrawal whose payout provider does not report how it ended",
		"The provider is queried first, if possible. `paid` completes it, `not-paid` returns the money to the balance, and `returned` books what came back of a completed one, in one or more parts."), conflict, a.resolveWithdrawal)
}

// unsureLimit bounds the list.
const unsureLimit = 500

func (a *API) unsure(ctx context.Context, _ audit.Actor, in *unsureIn) (*unsureOut, error) {
	list, err := a.Uses.Payments.Unsure(ctx, unsureLimit)
	if err != nil {
		return nil, err
	}
	place := func(p pay.Payment) string { return sortable(p.Times.Unsure) + " " + p.ID }
	list = cut(in.PageQuery, list, place)
	out := &unsureOut{}
	out.Body.Data, out.Body.Pagination = paged(in.PageQuery, list, place, shape.NewUnsurePayment)
	return out, nil
}

func (a *API) resolvePayment(ctx context.Context, by audit.Actor, in *resolvePaymentIn) (*resolvedPaymentOut, error) {
	p, said, err := a.Uses.Payments.Resolve(ctx, by, base.Resolution{ID: in.ID, Word: in.Body.Outcome, Note: in.Body.Note, Force: in.Body.Force})
	if err != nil {
		return nil, err
	}
	return &resolvedPaymentOut{shape.ResolvedPayment{ID: p.ID, Status: p.Status, Provider: said}}, nil
}

func (a *API) resolveClaim(ctx context.Context, by audit.Actor, in *resolveClaimIn) (*resolvedClaimOut, error) {
	c, err := a.Uses.Claims.Resolve(ctx, by, claims.Resolution{
		ID: in.ID, Word: claims.Verbs[in.Body.Outcome], Note: in.Body.Note, Force: in.Body.Force, Keep: in.Body.Keep, Complete: in.Body.Complete, ByHand: in.Body.ByHand,
	})
	if err != nil {
		return nil, err
	}
	return &resolvedClaimOut{shape.ResolvedClaim{ID: c.ID, Status: c.Status, Payment: c.Payment}}, nil
}

func (a *API) carryEvidence(ctx context.Context, by audit.Actor, in *carryEvidenceIn) (*resolvedClaimOut, error) {
	c, err := a.Uses.Claims.Carried(ctx, by, in.ID, in.Body.Note)
	if err != nil {
		return nil, err
	}
	return &resolvedClaimOut{shape.ResolvedClaim{ID: c.ID, Status: c.Status, Payment: c.Payment}}, nil
}

func (a *API) bookRefund(ctx context.Context, by audit.Actor, in *bookRefundIn) (*resolvedClaimOut, error) {
	b := in.Body
	c, err := a.Uses.Claims.BookRefund(ctx, by, claims.Booking{Payment: in.ID, Amount: b.Amount, Reference: b.Reference, Origin: b.Origin, Note: b.Note})
	if err != nil {
		return nil, err
	}
	return &resolvedClaimOut{shape.ResolvedClaim{ID: c.ID, Status: c.Status, Payment: c.Payment}}, nil
}

func (a *API) resolveWithdrawal(ctx context.Context, by audit.Actor, in *resolveWithdrawalIn) (*resolvedWithdrawalOut, error) {
	w, said, err := a.Uses.Payouts.ResolveWithdrawal(ctx, by, base.Resolution{ID: in.ID, Word: in.Body.Outcome, Note: in.Body.Note, Force: in.Body.Force, Reference: in.Body.Reference, Amount: in.Body.Amount})
	if err != nil {
		return nil, err
	}
	return &resolvedWithdrawalOut{shape.ResolvedWithdrawal{ID: w.ID, Status: w.Status, Provider: said}}, nil
}
