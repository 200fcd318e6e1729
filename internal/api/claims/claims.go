package claims

import (
	"context"
	"mime"
	"net/http"

	"github.com/cascadapay/cascada/internal/api/call"
	appclaims "github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

type claimsIn struct {
	wire.Page
	Status        wire.Word[pay.ClaimStatus] `query:"status"`
	Type          wire.Word[pay.ClaimKind]   `query:"type"`
	TransactionID string                     `query:"transactionId"`
}

type claimsOut struct {
	Body struct {
		Data       []view.Claim    `json:"data"`
		Pagination wire.Pagination `json:"pagination"`
	}
}

type claimOut struct{ Body view.Claim }

type fileIn struct {
	ID         string `path:"id"`
	EvidenceID string `path:"evidenceId"`
}

// fileOut is a file for download: browsers neither show nor run it.
type fileOut struct {
	ContentType  string `header:"Content-Type"`
	Disposition  string `header:"Content-Disposition"`
	NoSniff      string `header:"X-Content-Type-Options"`
	Policy       string `header:"Content-Security-Policy"`
	CacheControl string `header:"Cache-Control"`
	Body         []byte
}

func (a *api) claimRoutes() {
	tags := []string{"Claims"}
	call.Handle(a.API, huma.Operation{OperationID: "listClaims", Method: http.MethodGet, Path: "/claims", Tags: tags,
		Summary: "List refunds and claims, newest first"}, call.ToRead, call.InShop(a.API, a.claims))
	call.Handle(a.API, huma.Operation{OperationID: "getClaim", Method: http.MethodGet, Path: "/claims/{id}", Tags: tags,
		Summary: "Read a claim"}, call.ToRead, call.InShop(a.API, a.claim))
	call.Handle(a.API, huma.Operation{OperationID: "submitEvidence", Method: http.MethodPost, Path: "/claims/{id}/evidence", Tags: tags,
		Summary: "Answer a claim with a text, a file or both", DefaultStatus: http.StatusCreated,
		MaxBodyBytes: maxEvidenceBody, BodyReadTimeout: evidenceTimeout, Middlewares: huma.Middlewares{newUploads().admit(a.API)},
		Metadata: map[string]any{call.BeforeKey: a.own},
	}, call.ToAnswer, call.InShop(a.API, a.submitEvidence))
	call.Handle(a.API, huma.Operation{OperationID: "acceptClaim", Method: http.MethodPost, Path: "/claims/{id}/accept", Tags: tags,
		Summary: "Accept a claim: the shopper is paid", DefaultStatus: http.StatusOK}, call.ToAnswer, call.InShop(a.API, a.acceptClaim))
	files := map[string]*huma.MediaType{}
	for _, kind := range evidence.Types() {
		files[kind] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	}
	call.Handle(a.API, huma.Operation{OperationID: "getEvidenceFile", Method: http.MethodGet, Path: "/claims/{id}/evidence/{evidenceId}/file", Tags: tags,
		Summary: "Download the file of a piece of evidence", Responses: map[string]*huma.Response{"200": {Description: "The file", Content: files}},
	}, call.ToRead, call.InShop(a.API, a.evidenceFile))
}

func (a *api) claims(ctx context.Context, caller call.Caller, in *claimsIn) (*claimsOut, error) {
	list, total, err := a.uses.Claims.List(ctx, caller.Scope, lists.ClaimFilter{
		Status: pay.ClaimStatus(in.Status), Kind: pay.ClaimKind(in.Type), Payment: in.TransactionID, Page: in.Rows(),
	})
	if err != nil {
		return nil, in.Named(err)
	}
	out := &claimsOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(c pay.Claim) string { return c.ID }, view.NewClaim)
	return out, nil
}

func (a *api) claim(ctx context.Context, caller call.Caller, in *call.IDPath) (*claimOut, error) {
	c, err := a.uses.Claims.Get(ctx, caller.Scope, in.ID)
	if err != nil {
		return nil, err
	}
	return &claimOut{view.NewClaim(c)}, nil
}

func (a *api) submitEvidence(ctx context.Context, caller call.Caller, in *evidenceIn) (*claimOut, error) {
	n := appclaims.NewEvidence{Kind: in.Body.Kind, Text: in.Body.Text, By: caller.Actor()}
	if f := in.Body.File; f != nil {
		n.File, n.Content = f.described(), f.content
	}
	c, err := a.uses.Claims.SubmitEvidence(ctx, caller.Scope, in.ID, n)
	if err != nil {
		return nil, err
	}
	return &claimOut{view.NewClaim(c)}, nil
}

func (a *api) acceptClaim(ctx context.Context, caller call.Caller, in *call.IDPath) (*claimOut, error) {
	c, err := a.uses.Claims.Accept(ctx, caller.Scope, in.ID, caller.Actor())
	if err != nil {
		return nil, err
	}
	return &claimOut{view.NewClaim(c)}, nil
}

func (a *api) evidenceFile(ctx context.Context, caller call.Caller, in *fileIn) (*fileOut, error) {
	f, err := a.uses.Claims.EvidenceFile(ctx, caller.Scope, in.ID, in.EvidenceID)
	if err != nil {
		return nil, err
	}
	return &fileOut{
		ContentType: f.Type, Disposition: mime.FormatMediaType("attachment", map[string]string{"filename": f.Name}),
		NoSniff: "nosniff", Policy: "default-src 'none'; sandbox", CacheControl: "private, no-store", Body: f.Content,
	}, nil
}

// publish adds to the published document what the validated one cannot say.
func publish(_, schemas map[string]any) {
	property := func(schema, name string) (of, value map[string]any) {
		described, _ := schemas[schema].(map[string]any)
		of, _ = described["properties"].(map[string]any)
		value, _ = of[name].(map[string]any)
		return of, value
	}
	refund, _ := property("RefundBody", "amount")
	refund["amount"] = call.AmountSchema(refundAmountDoc, 25.5)
	_, content := property("EvidenceUpload", "content")
	content["description"] = "Base64, at most " + pay.MaxEvidenceText + " when decoded"
	content["contentEncoding"] = "base64" // huma would match every byte against a pattern
	_, outcome := property("Claim", "outcome")
	outcome["enum"] = []any{pay.ClaimApproved, pay.ClaimRejected, pay.ClaimWithdrawn, nil}
	call.RequireAny(schemas, "EvidenceBody", []string{"text"}, []string{"file"})
}
