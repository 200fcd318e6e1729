package books

import (
	"context"
	"net/http"
	"strings"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/books"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

type auditIn struct {
	call.PageQuery
	MerchantID string    `query:"merchantId" maxLength:"64" doc:"Only entries of this merchant"`
	Object     string    `query:"object" maxLength:"300" doc:"Only entries about the object with this id or name"`
	Action     audit.Act `query:"action" maxLength:"64" doc:"Only entries of this action" example:"merchant.created"`
}

type auditOut struct {
	Body struct {
		Data       []shape.AuditEntry `json:"data"`
		Pagination call.Cursor        `json:"pagination"`
	}
}

type checkBooksOut struct{ Body shape.BooksCheck }

type startCheckIn struct{ Body CheckBody }

// CheckBody says what is checked.
type CheckBody struct {
	_     struct{} `additionalProperties:"false"`
	Seals bool     `json:"seals,omitempty" doc:"Only the seals, which is much faster"`
}

type headsIn struct{ call.PageQuery }

type headsOut struct {
	Body struct {
		Data       []shape.SealHead `json:"data"`
		Pagination call.Cursor      `json:"pagination"`
	}
}

type compareHeadsIn struct{ Body HeadsBody }

// HeadsBody is heads of chains of seals that were kept elsewhere.
type HeadsBody struct {
	_     struct{} `additionalProperties:"false"`
	Lines []string `json:"lines" minItems:"1" maxItems:"500" doc:"As /seals/heads shows them, and cascada seal head"`
}

type comparedHeadsOut struct{ Body shape.ComparedSeals }

func (a *api) auditRoutes() {
	call.Handle(a.API, operators.View, huma.Operation{OperationID: "listAudit", Method: http.MethodGet, Path: "/audit", Tags: []string{"Books"},
		Summary: "List the entries of the audit log", Description: "Newest first."}, nil, a.audit)
}

func (a *api) checkRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Books"}}
	}
	conflict := []problem.Code{problem.ConflictState}
	call.Handle(a.API, operators.View, op("getBooksCheck", http.MethodGet, "/books-check", "Read how far the check of the books is, and what the last one found", "Of the node that answers; the newest results are of all nodes."), nil, a.booksCheck)
	call.Handle(a.API, operators.Checks, op("startBooksCheck", http.MethodPost, "/books-check", "Start a check of the books", "It runs on the node that answers, and goes on when the reply has been sent. It only reads."), conflict, a.startCheck)
	call.Handle(a.API, operators.Checks, op("stopBooksCheck", http.MethodDelete, "/books-check", "Stop the check of the books", "On the node that answers. If none runs, nothing happens."), nil, a.stopCheck)
	call.Handle(a.API, operators.View, call.Heavy(op("listSealHeads", http.MethodGet, "/seals/heads", "List the newest seal of each merchant and environment", "Keep the lines elsewhere, for a later comparison.")), nil, a.heads)
	call.Handle(a.API, operators.Checks, call.Heavy(op("compareSeals", http.MethodPost, "/seals/comparisons", "Prove that no chain of seals was cut since its head was kept", "It only reads.")), nil, a.compareHeads)
}

func (a *api) audit(ctx context.Context, _ audit.Actor, in *auditIn) (*auditOut, error) {
	list, err := a.Uses.Lists.Audit(ctx, audit.Filter{Merchant: in.MerchantID, Object: in.Object, Act: in.Action}, in.Rows())
	if err != nil {
		return nil, err
	}
	out := &auditOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, func(e audit.Entry) string { return e.ID }, shape.NewAuditEntry)
	return out, nil
}

// pastChecks is how many checks that have ended are shown.
const pastChecks = 20

func (a *api) booksCheck(ctx context.Context, _ audit.Actor, _ *struct{}) (*checkBooksOut, error) {
	past, err := a.Uses.Checks.Past(ctx, pastChecks)
	if err != nil {
		return nil, err
	}
	return &checkBooksOut{shape.NewBooksCheck(a.Node, a.Uses.Checks.State(), past)}, nil
}

func (a *api) startCheck(ctx context.Context, by audit.Actor, in *startCheckIn) (*checkBooksOut, error) {
	if err := a.Uses.Checks.Start(by, books.CheckOptions{Seals: in.Body.Seals}); err != nil {
		return nil, err
	}
	return a.booksCheck(ctx, by, nil)
}

func (a *api) stopCheck(ctx context.Context, by audit.Actor, _ *struct{}) (*checkBooksOut, error) {
	a.Uses.Checks.Stop()
	return a.booksCheck(ctx, by, nil)
}

func (a *api) heads(ctx context.Context, _ audit.Actor, in *headsIn) (*headsOut, error) {
	after, err := chainOf(in.After)
	if err != nil {
		return nil, err
	}
	list, err := a.Uses.Checks.HeadsAfter(ctx, after, in.Rows().Limit)
	if err != nil {
		return nil, err
	}
	out := &headsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, func(h books.SealHead) string { return h.Merchant + " " + string(merchants.EnvironmentOf(h.Live)) }, shape.NewSealHead)
	return out, nil
}

// chainOf is the chain that a cursor of the list of heads names; nil: the list begins.
//
// Errors: invalid_request.
func chainOf(cursor string) (*merchants.Scope, error) {
	merchant, environment, found := strings.Cut(cursor, " ")
	switch of := merchants.Environment(environment); {
	case cursor == "":
		return nil, nil
	case !found || of != merchants.Production && of != merchants.Sandbox || !base.Storable(merchant):
		return nil, base.NoRow()
	default:
		return &merchants.Scope{Merchant: merchant, Live: of == merchants.Production}, nil
	}
}

func (a *api) compareHeads(ctx context.Context, _ audit.Actor, in *compareHeadsIn) (*comparedHeadsOut, error) {
	broken, heads, err := a.Uses.Checks.CheckHeads(ctx, strings.NewReader(strings.Join(in.Body.Lines, "\n")))
	if err != nil {
		return nil, call.About("lines", err)
	}
	out := &comparedHeadsOut{shape.ComparedSeals{Heads: heads, Broken: []shape.BrokenInvariant{}}}
	for _, b := range broken[:min(len(broken), call.MostFindings)] {
		out.Body.Broken = append(out.Body.Broken, shape.BrokenInvariant{Invariant: b.Invariant, ID: b.ID, Note: b.Note})
	}
	return out, nil
}
