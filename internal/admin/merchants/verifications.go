package merchants

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// VerificationPath names a verification.
type VerificationPath struct {
	ID string `path:"id" maxLength:"64" pattern:"^[A-Za-z0-9_]+$" example:"kyc_01KAJ0Y3ZK9VQ4T4R1M2N3P5Q6"`
}

type verificationsIn struct {
	call.PageQuery
	Status     merchants.VerificationStatus `query:"status" enum:"requires_input,processing,verified,rejected,expired" doc:"Only verifications with this status"`
	MerchantID string                       `query:"merchantId" maxLength:"64" doc:"Only verifications of this merchant"`
}

type verificationsOut struct {
	Body struct {
		Data       []shape.Verification `json:"data"`
		Pagination call.Cursor          `json:"pagination"`
	}
}

type verificationOut struct{ Body shape.Verification }

type decideVerificationIn struct {
	VerificationPath
	Body VerificationDecision
}

// VerificationDecision is how a verification ends.
type VerificationDecision struct {
	_       struct{}                     `additionalProperties:"false"`
	Outcome merchants.VerificationStatus `json:"outcome" enum:"verified,rejected"`
	Code    string                       `json:"code,omitempty" maxLength:"64" example:"document_unreadable" doc:"Why it is rejected, for programs"`
	Message string                       `json:"message,omitempty" maxLength:"500" example:"A document cannot be read." doc:"Why it is rejected, for people"`
}

func (a *api) verificationRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Verifications"}}
	}
	call.Handle(a.API, operators.View, op("listVerifications", http.MethodGet, "/verifications", "List verifications of merchants", "Newest first."), nil, a.verifications)
	call.Handle(a.API, operators.View, op("getVerification", http.MethodGet, "/verifications/{id}", "Read a verification", "Of any merchant."), nil, a.verification)
	call.Handle(a.API, operators.Verifications, op("decideVerification", http.MethodPost, "/verifications/{id}/decision", "Approve or reject a verification",
		"A merchant that is verified may withdraw; one that is rejected may start a new one."), []problem.Code{problem.ConflictState}, a.decideVerification)
}

func (a *api) verifications(ctx context.Context, _ audit.Actor, in *verificationsIn) (*verificationsOut, error) {
	list, err := a.Uses.Lists.Verifications(ctx, in.Status, in.MerchantID, in.Rows())
	if err != nil {
		return nil, err
	}
	out := &verificationsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, func(v merchants.Verification) string { return v.ID }, shape.NewVerification)
	return out, nil
}

func (a *api) verification(ctx context.Context, _ audit.Actor, in *VerificationPath) (*verificationOut, error) {
	v, err := a.Uses.Verifications.Any(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return &verificationOut{shape.NewVerification(v)}, nil
}

func (a *api) decideVerification(ctx context.Context, by audit.Actor, in *decideVerificationIn) (*verificationOut, error) {
	b := in.Body
	if rejects := b.Outcome == merchants.KYCRejected; rejects != (b.Code != "" && b.Message != "") || !rejects && b.Code+b.Message != "" {
		return nil, message.Refusal(problem.InvalidRequest, "a rejection has a code and a message, and an approval has neither")
	}
	if err := a.Uses.Verifications.Decide(ctx, by, in.ID, b.Outcome, b.Code, b.Message); err != nil {
		return nil, err
	}
	return a.verification(ctx, by, &in.VerificationPath)
}
