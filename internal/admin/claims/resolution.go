package claims

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

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

func (a *api) resolutionRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Endings"}}
	}
	call.Handle(a.API, operators.Claims, op("resolveClaim", http.MethodPost, "/claims/{id}/resolution", "Resolve a refund, a chargeback or an inquiry",
		"As the bank, the provider or you decided it. For a refund that is under way, the provider is queried first."), []problem.Code{problem.ConflictState, problem.ClaimAlreadyResolved}, a.resolveClaim)
	call.Handle(a.API, operators.Cases, op("carryEvidence", http.MethodPost, "/claims/{id}/carried", "Say that you submitted the evidence of a dispute in the provider's panel",
		"It calls nobody. What the service would still send is not sent."), []problem.Code{problem.ConflictState, problem.ClaimAlreadyResolved}, a.carryEvidence)
	call.Handle(a.API, operators.Claims, call.Repeatable(op("bookRefund", http.MethodPost, "/payments/{id}/refunds", "Book a refund that was made already",
		"One that the provider made by itself, or that you made by hand. It calls nobody. The merchant's part is taken from `available`, which may fall below zero.")), []problem.Code{problem.ConflictState}, a.bookRefund)
}

func (a *api) resolveClaim(ctx context.Context, by audit.Actor, in *resolveClaimIn) (*resolvedClaimOut, error) {
	c, err := a.Uses.Claims.Resolve(ctx, by, claims.Resolution{
		ID: in.ID, Word: claims.Verbs[in.Body.Outcome], Note: in.Body.Note, Force: in.Body.Force, Keep: in.Body.Keep, Complete: in.Body.Complete, ByHand: in.Body.ByHand,
	})
	if err != nil {
		return nil, err
	}
	return &resolvedClaimOut{shape.ResolvedClaim{ID: c.ID, Status: c.Status, Payment: c.Payment}}, nil
}

func (a *api) carryEvidence(ctx context.Context, by audit.Actor, in *carryEvidenceIn) (*resolvedClaimOut, error) {
	c, err := a.Uses.Claims.Carried(ctx, by, in.ID, in.Body.Note)
	if err != nil {
		return nil, err
	}
	return &resolvedClaimOut{shape.ResolvedClaim{ID: c.ID, Status: c.Status, Payment: c.Payment}}, nil
}

func (a *api) bookRefund(ctx context.Context, by audit.Actor, in *bookRefundIn) (*resolvedClaimOut, error) {
	b := in.Body
	c, err := a.Uses.Claims.BookRefund(ctx, by, claims.Booking{Payment: in.ID, Amount: b.Amount, Reference: b.Reference, Origin: b.Origin, Note: b.Note})
	if err != nil {
		return nil, err
	}
	return &resolvedClaimOut{shape.ResolvedClaim{ID: c.ID, Status: c.Status, Payment: c.Payment}}, nil
}
