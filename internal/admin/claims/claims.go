package claims

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// ClaimPath names a claim.
type ClaimPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9-]+$" example:"CLM-01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

type claimsIn struct {
	call.PageQuery
	Status pay.ClaimStatus `query:"status" enum:"pending,needs_evidence,under_review,approved,rejected,expired,withdrawn" doc:"Only claims with this status"`
	Type   pay.ClaimKind   `query:"type" enum:"user_dispute,chargeback,inquiry" doc:"Only claims of this type"`
	Carry  bool            `query:"carry" doc:"Only disputes whose evidence you have to submit in the provider's panel, oldest first"`

	TransactionID string `query:"transactionId" maxLength:"64" doc:"Only claims on this payment"`
}

type claimsOut struct {
	Body struct {
		Data       []shape.OperatorClaim `json:"data"`
		Pagination call.Cursor           `json:"pagination"`
	}
}

type claimOut struct{ Body shape.OperatorClaim }

type askEvidenceIn struct {
	ClaimPath
	Body EvidenceQuestion
}

// EvidenceQuestion asks a merchant for evidence.
type EvidenceQuestion struct {
	_    struct{} `additionalProperties:"false"`
	Note string   `json:"note" text:"lines" minLength:"1" maxLength:"1000" example:"Who paid this?" doc:"Your question; the merchant reads it"`
}

func (a *api) claimRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Claims"}}
	}
	call.Handle(a.API, operators.View, op("listClaims", http.MethodGet, "/claims", "List refunds and claims of all merchants", "Newest first."), nil, a.claims)
	call.Handle(a.API, operators.View, op("getClaim", http.MethodGet, "/claims/{id}", "Read a claim", "With its history and evidence."), nil, a.claim)
	call.Handle(a.API, operators.Cases, op("askEvidence", http.MethodPost, "/claims/{id}/ask", "Ask a merchant for evidence on an inquiry", "The merchant has seven days to answer."),
		[]problem.Code{problem.ConflictState, problem.ClaimAlreadyResolved}, a.askEvidence)
}

func (a *api) claims(ctx context.Context, _ audit.Actor, in *claimsIn) (*claimsOut, error) {
	var list []pay.Claim
	var err error
	if in.Carry && (in.Status != "" || in.Type != "" || in.TransactionID != "") {
		return nil, message.FieldRefusal(problem.InvalidRequest, "carry", "carry goes with no other filter")
	}
	if in.Carry {
		list, err = a.Uses.Lists.Carrying(ctx, in.Rows())
	} else {
		list, err = a.Uses.Lists.Claims(ctx, lists.ClaimFilter{Page: in.Rows(), Status: in.Status, Kind: in.Type, Payment: in.TransactionID})
	}
	if err != nil {
		return nil, err
	}
	out := &claimsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, func(c pay.Claim) string { return c.ID }, shape.NewOperatorClaim)
	return out, nil
}

func shownClaim(c pay.Claim, err error) (*claimOut, error) {
	if err != nil {
		return nil, err
	}
	return &claimOut{shape.NewOperatorClaim(c)}, nil
}

func (a *api) claim(ctx context.Context, _ audit.Actor, in *ClaimPath) (*claimOut, error) {
	return shownClaim(a.Uses.Claims.Any(ctx, in.ID))
}

func (a *api) askEvidence(ctx context.Context, by audit.Actor, in *askEvidenceIn) (*claimOut, error) {
	return shownClaim(a.Uses.Claims.Resolve(ctx, by, claims.Resolution{ID: in.ID, Word: pay.AskEvidence, Note: in.Body.Note}))
}
