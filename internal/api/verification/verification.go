package verification

import (
	"context"
	"net/http"

	"github.com/cascadapay/cascada/internal/api/call"
	appverification "github.com/cascadapay/cascada/internal/app/verification"
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
	if in.Body.ReturnURL != "" && !call.WebURL(in.Body.ReturnURL) {
		return []error{wire.Coded(problem.InvalidRequest, "returnUrl", call.URLIssue)}
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

func (a *api) routes() {
	tags := []string{"Verification"}
	call.Handle(a.API, huma.Operation{OperationID: "startVerification", Method: http.MethodPost, Path: "/kyc/init", Tags: tags,
		Summary: "Start verifying the merchant; 200 with the open verification if there is one", DefaultStatus: http.StatusCreated}, call.ToWithdraw, a.startKYC)
	call.Handle(a.API, huma.Operation{OperationID: "getVerification", Method: http.MethodGet, Path: "/kyc/{id}", Tags: tags,
		Summary: "Read a verification"}, call.ToRead, a.kyc)
	call.Handle(a.API, huma.Operation{OperationID: "simulateVerification", Method: http.MethodPost, Path: "/sandbox/kyc/{id}", Tags: []string{"Sandbox"},
		Summary: "Set the outcome of a sandbox verification", DefaultStatus: http.StatusOK}, call.ToPlay, a.simulateKYC)
}

// The verification is the merchant's, whichever shop starts it, so legacy credentials of the whole merchant
// may start it.
func (a *api) startKYC(ctx context.Context, caller call.Caller, in *startKYCIn) (*startKYCOut, error) {
	v, made, err := a.uses.Verifications.Start(ctx, caller.Principal, appverification.NewVerification{
		Level: in.Body.Level, Subject: in.Body.SubjectType, ReturnURL: in.Body.ReturnURL,
	})
	out := &startKYCOut{http.StatusOK, a.viewKYC(v)}
	if made {
		out.Status = http.StatusCreated
	}
	return out, err
}

func (a *api) kyc(ctx context.Context, caller call.Caller, in *call.IDPath) (*kycOut, error) {
	v, err := a.uses.Verifications.Get(ctx, caller.Scope, in.ID)
	return &kycOut{a.viewKYC(v)}, err
}

func (a *api) simulateKYC(ctx context.Context, caller call.Caller, in *simulateKYCIn) (*kycOut, error) {
	v, err := a.uses.Verifications.Simulate(ctx, caller.Principal, in.ID, in.Body.Status)
	return &kycOut{a.viewKYC(v)}, err
}

func (a *api) viewKYC(v merchants.Verification) view.Verification {
	return view.NewVerification(v, a.uses.Verifications.VerificationURL(v.ID))
}

// publish adds to the published document what the validated one cannot say: only the status code shows that a verification was already
// open.
func publish(paths, _ map[string]any) {
	if created, ok := call.Dig(paths, "/kyc/init", "post", "responses"); ok {
		created["200"] = created["201"]
	}
}
