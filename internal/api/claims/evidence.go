package claims

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/cardnumber"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/evidence"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/semaphore"
)

// maxEvidenceBody bounds the body of evidence: the largest file in base64, plus the size of any other body.
const maxEvidenceBody = int64(pay.MaxEvidenceFile+2)/3*4 + call.MaxBody

// EvidenceBody is a shop's answer to a claim.
type EvidenceBody struct {
	Kind string          `json:"kind" minLength:"1" maxLength:"60" example:"delivery_proof" doc:"What it shows, such as receipt, delivery_proof, customer_communication, refund_policy or other"`
	Text string          `json:"text,omitempty" text:"lines" maxLength:"20000" doc:"Required without a file"`
	File *EvidenceUpload `json:"file,omitempty"`
}

// EvidenceUpload is an uploaded file of evidence.
type EvidenceUpload struct {
	Name        string `json:"name" minLength:"1" maxLength:"200" example:"receipt.pdf" doc:"Without a path. If it has no extension, one that fits the type is added"`
	ContentType string `json:"contentType" enum:"application/pdf,image/png,image/jpeg,text/plain" doc:"The content must be of this type"`
	Content     string `json:"content" text:"lines" minLength:"1"`
	content     []byte
}

// Resolve checks what a schema cannot say.
func (b *EvidenceBody) Resolve(_ huma.Context, prefix *huma.PathBuffer) []error {
	if b.File != nil {
		return b.File.check(prefix.With("file"))
	}
	if strings.TrimSpace(b.Text) == "" {
		return []error{wire.Coded(problem.MissingField, prefix.With("text"), "text is required without a file")}
	}
	return nil
}

// check reads the file and returns its issues.
func (e *EvidenceUpload) check(path string) (issues []error) {
	if strings.ContainsAny(e.Name, `/\`) || strings.ContainsFunc(e.Name, unicode.IsControl) {
		issues = append(issues, wire.Coded(problem.InvalidRequest, path+".name", "name must be a file's name, without a path or control characters"))
	}
	if e.Content == "" {
		return issues // the schema reports it
	}
	var err error
	if e.content, err = base64.StdEncoding.DecodeString(e.Content); err != nil {
		return append(issues, wire.Coded(problem.InvalidRequest, path+".content", "content must be base64"))
	}
	if len(e.content) > pay.MaxEvidenceFile {
		return append(issues, wire.Coded(problem.PayloadTooLarge, path+".content", "the file must be at most "+pay.MaxEvidenceText))
	}
	if slices.Contains(evidence.Types(), e.ContentType) && !evidence.Is(e.ContentType, e.content) {
		issues = append(issues, wire.Coded(problem.InvalidRequest, path+".contentType", "the content is not "+e.ContentType))
	}
	if e.ContentType == evidence.Text && cardnumber.In(e.content) {
		issues = append(issues, wire.Coded(problem.InvalidRequest, path+".content", message.Text(problem.CardNumber.With(strings.TrimPrefix(path, "body.")+".content"))))
	}
	return issues
}

func (e *EvidenceUpload) described() *pay.EvidenceFile {
	return evidence.Describe(e.Name, e.ContentType, e.content)
}

type evidenceIn struct {
	ID   string `path:"id"`
	Body EvidenceBody
}

const (
	// maxChecks is how many pieces of evidence are read and checked at a time, at about 40 MB each. Others
	// wait.
	maxChecks = 8
	// evidenceTimeout is how long the largest piece of evidence may take to arrive.
	evidenceTimeout = 50 * time.Second
)

// uploads bounds how many pieces of evidence a node checks at a time. Production and the sandbox have
// separate limits: a missed deadline costs money.
type uploads map[bool]*semaphore.Weighted // by Live

func newUploads() uploads {
	return uploads{false: semaphore.NewWeighted(maxChecks), true: semaphore.NewWeighted(maxChecks)}
}

// own lets a merchant send evidence for one of its claims.
func (a *api) own(ctx context.Context, caller call.Caller, claim string) error {
	scope, err := a.uses.Narrow(ctx, caller.Principal, "", "")
	if err == nil {
		_, err = a.uses.Claims.Get(ctx, scope, claim)
	}
	return err
}

// admit waits for a place. The body has arrived: whoever sends slowly takes none.
func (u uploads) admit(a *call.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		checks := u[call.Of(ctx.Context()).Live]
		if checks.Acquire(ctx.Context(), 1) != nil { // the sender has left
			a.Refuse(ctx, message.Refusal(problem.InvalidRequest, call.BodyLost))
			return
		}
		defer checks.Release(1)
		next(ctx)
	}
}
