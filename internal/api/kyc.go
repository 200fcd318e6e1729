package api

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/app/verification"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

type startKYCIn struct {
	Body struct {
		Level       merchants.KYCLevel   `json:"level" enum:"basic,enhanced" doc:"Withdrawals in production need basic"`
		SubjectType merchants.KYCSubject `json:"subjectType" enum:"individual,company"`
		ReturnURL   string               `json:"returnUrl,omitempty" maxLength:"2048" doc:"Where the page leads back to"`
	}
}

// Resolve checks what a schema cannot say.
func (in *startKYCIn) Resolve(huma.Context) []error {
	if in.Body.ReturnURL != "" && !webURL(in.Body.ReturnURL) {
		return []error{wire.Coded(problem.InvalidRequest, "returnUrl", urlIssue)}
	}
	return nil
}

type startKYCOut struct {
	Status int
	Body   view.Verification
}

type kycOut struct{ Body view.Verification }

type simulateKYCIn struct {
	ID   string `path:"id"`
	Body struct {
		Status merchants.VerificationStatus `json:"status" enum:"processing,verified,rejected,expired"`
	}
}

func (a *API) kycRoutes() {
	tags := []string{"Verification"}
	handle(a, huma.Operation{OperationID: "startVerification", Method: http.MethodPost, Path: "/kyc/init", Tags: tags,
		Summary: "Start verifying the merchant; 200 with the open verification if there is one", DefaultStatus: http.StatusCreated}, toWithdraw, a.startKYC)
	handle(a, huma.Operation{OperationID: "getVerification", Method: http.MethodGet, Path: "/kyc/{id}", Tags: tags,
		Summary: "Read a verification"}, toRead, a.kyc)
	handle(a, huma.Operation{OperationID: "simulateVerification", Method: http.MethodPost, Path: "/sandbox/kyc/{id}", Tags: []string{"Sandbox"},
		Summary: "Set the outcome of a sandbox verification", DefaultStatus: http.StatusOK}, toPlay, a.simulateKYC)
}

// The verification is the merchant's, whichever shop starts it, so legacy credentials of the whole merchant
// may start it.
func (a *API) startKYC(ctx context.Context, call Call, in *startKYCIn) (*startKYCOut, error) {
	v, made, err := a.uses.Verifications.Start(ctx, call.Principal, verification.NewVerification{
		Level: in.Body.Level, Subject: in.Body.SubjectType, ReturnURL: in.Body.ReturnURL,
	})
	out := &startKYCOut{http.StatusOK, a.viewKYC(v)}
	if made {
		out.Status = http.StatusCreated
	}
	return out, err
}

func (a *API) kyc(ctx context.Context, call Call, in *getIn) (*kycOut, error) {
	v, err := a.uses.Verifications.Get(ctx, call.Scope, in.ID)
	return &kycOut{a.viewKYC(v)}, err
}

func (a *API) simulateKYC(ctx context.Context, call Call, in *simulateKYCIn) (*kycOut, error) {
	v, err := a.uses.Verifications.Simulate(ctx, call.Principal, in.ID, in.Body.Status)
	return &kycOut{a.viewKYC(v)}, err
}

func (a *API) viewKYC(v merchants.Verification) view.Verification {
	return view.NewVerification(v, a.uses.Verifications.VerificationURL(v.ID))
}
