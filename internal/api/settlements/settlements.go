package settlements

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strconv"

	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/statement"
	"github.com/cascadapay/cascada/internal/view"
	"github.com/cascadapay/cascada/internal/wire"
	"github.com/danielgtaylor/huma/v2"
)

type settlementsIn struct {
	wire.Page
	Status wire.Word[pay.SettlementStatus] `query:"status"`
	wire.Span
}

func (in *settlementsIn) filter() lists.SettlementFilter {
	return lists.SettlementFilter{Page: in.Rows(), Span: in.Time(), Status: pay.SettlementStatus(in.Status)}
}

type settlementsOut struct {
	Body struct {
		Data       []view.Settlement `json:"data"`
		Pagination wire.Pagination   `json:"pagination"`
	}
}

type settlementOut struct{ Body view.Settlement }

type settlementLinesIn struct {
	wire.Page
	ID string `path:"id"`
}

type settlementLinesOut struct {
	Body struct {
		Data       []view.SettlementLine `json:"data"`
		Pagination wire.Pagination       `json:"pagination"`
	}
}

type settlementReportIn struct {
	ID     string `path:"id"`
	Format string `query:"format" enum:"pdf,csv,json" default:"pdf"`
	call.Sheet
}

// Resolve refuses a sheet for what is no CSV file.
func (in *settlementReportIn) Resolve(huma.Context) []error {
	if in.Format == "csv" || in.Decimal == "" {
		return nil
	}
	return []error{wire.Coded(problem.InvalidRequest, "decimal", "decimal is for CSV files: send format=csv with it, or leave it out")}
}

type settlementReport struct {
	Settlement   view.Settlement       `json:"settlement"`
	Transactions []view.SettlementLine `json:"transactions"`
}

type simulatePayoutIn struct {
	ID   string `path:"id"`
	Body struct {
		Action string `json:"action" enum:"paid" doc:"paid: the bank confirms the payout"`
	}
}

func (a *api) settlementRoutes() {
	tags := []string{"Settlements"}
	call.Handle(a.API, huma.Operation{OperationID: "listSettlements", Method: http.MethodGet, Path: "/settlements", Tags: tags,
		Summary: "List settlements, newest first"}, call.ToRead, a.settlements)
	call.Handle(a.API, huma.Operation{OperationID: "getSettlement", Method: http.MethodGet, Path: "/settlements/{id}", Tags: tags,
		Summary: "Read a settlement"}, call.ToRead, a.settlement)
	call.Handle(a.API, huma.Operation{OperationID: "listSettlementTransactions", Method: http.MethodGet, Path: "/settlements/{id}/transactions", Tags: tags,
		Summary: "List a settlement's lines in their order"}, call.ToRead, a.settlementLines)
	file := &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}
	report := a.Huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[settlementReport](), true, "SettlementReport")
	call.Handle(a.API, huma.Operation{OperationID: "getSettlementReport", Method: http.MethodGet, Path: "/settlements/{id}/report", Tags: tags,
		Summary: "Download the PDF receipt, or all lines as CSV or JSON, in the merchant's language",
		Responses: map[string]*huma.Response{"200": {Description: "A file", Content: map[string]*huma.MediaType{
			"application/pdf": file, "text/csv": file, "application/json": {Schema: report},
		}}}}, call.ToRead, a.settlementReport)
	call.Handle(a.API, huma.Operation{OperationID: "simulateSettlement", Method: http.MethodPost, Path: "/settlements/{id}/simulate", Tags: tags,
		Summary: "Pay a sandbox settlement", DefaultStatus: http.StatusOK}, call.ToPlay, a.simulatePayout)
}

func (a *api) settlements(ctx context.Context, caller call.Caller, in *settlementsIn) (*settlementsOut, error) {
	list, total, err := a.uses.Settlements.List(ctx, caller.Scope, in.filter())
	if err != nil {
		return nil, in.Named(err)
	}
	if list, err = a.uses.Settlements.For(ctx, caller.Scope, list); err != nil {
		return nil, err
	}
	out := &settlementsOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(s pay.Settlement) string { return s.ID },
		func(s pay.Settlement) view.Settlement { return view.NewSettlement(s, a.uses.CheckoutURL) })
	return out, nil
}

func (a *api) settlement(ctx context.Context, caller call.Caller, in *call.IDPath) (*settlementOut, error) {
	s, err := a.uses.Settlements.Get(ctx, caller.Scope, in.ID)
	if err != nil {
		return nil, err
	}
	v, err := a.settled(ctx, caller.Scope, s)
	return &settlementOut{v}, err
}

// settled is a settlement as a scope sees it.
func (a *api) settled(ctx context.Context, scope merchants.Scope, s pay.Settlement) (view.Settlement, error) {
	seen, err := a.uses.Settlements.For(ctx, scope, []pay.Settlement{s})
	if err != nil {
		return view.Settlement{}, err
	}
	return view.NewSettlement(seen[0], a.uses.CheckoutURL), nil
}

func (a *api) settlementLines(ctx context.Context, caller call.Caller, in *settlementLinesIn) (*settlementLinesOut, error) {
	s, err := a.uses.Settlements.Get(ctx, caller.Scope, in.ID)
	if err != nil {
		return nil, err
	}
	list, total, err := a.uses.Settlements.SettlementLines(ctx, caller.Scope, s, in.Rows())
	if err != nil {
		return nil, in.Named(err)
	}
	out := &settlementLinesOut{}
	out.Body.Data, out.Body.Pagination = wire.PageOf(in.Page, list, total, func(l pay.SettlementLine) string { return strconv.FormatInt(l.Number, 10) }, view.NewSettlementLine)
	return out, nil
}

func (a *api) simulatePayout(ctx context.Context, caller call.Caller, in *simulatePayoutIn) (*settlementOut, error) {
	s, err := a.uses.Settlements.SimulatePayout(ctx, caller.Principal, in.ID)
	if err != nil {
		return nil, err
	}
	v, err := a.settled(ctx, caller.Scope, s)
	return &settlementOut{v}, err
}

// settlementReport sends a file. Before the first byte it fails like any call; after it, the reply is cut
// off, so nobody mistakes a part for the whole.
func (a *api) settlementReport(ctx context.Context, caller call.Caller, in *settlementReportIn) (*huma.StreamResponse, error) {
	s, err := a.uses.Settlements.Get(ctx, caller.Scope, in.ID)
	if err != nil {
		return nil, err
	}
	language, err := a.uses.Settlements.Language(ctx, s.Merchant)
	if err != nil {
		return nil, err
	}
	kind := map[string]string{"pdf": "application/pdf", "csv": "text/csv; charset=utf-8", "json": "application/json"}[in.Format]
	write := func(w io.Writer) error { return a.writeLines(ctx, w, caller.Scope, s) }
	switch in.Format {
	case "pdf":
		pdf, err := a.uses.Settlements.ReceiptFor(ctx, caller.Scope, s)
		if err != nil {
			return nil, err
		}
		write = func(w io.Writer) error {
			_, _ = w.Write(pdf) // the client may have gone
			return nil
		}
	case "csv":
		write = func(w io.Writer) error {
			report, err := statement.NewReport(w, language, statement.Sheet(in.Decimal))
			if err != nil {
				return err
			}
			if err := a.uses.Settlements.EachLine(ctx, caller.Scope, s, report.Line); err != nil {
				return err
			}
			return report.Close()
		}
	}
	return &huma.StreamResponse{Body: func(to huma.Context) {
		to.SetHeader("Content-Type", kind)
		to.SetHeader("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.%s"`, s.ID, in.Format))
		to.SetStatus(http.StatusOK)
		if err := write(to.BodyWriter()); err != nil {
			if ctx.Err() == nil {
				a.Log.ErrorContext(ctx, "a settlement's report broke off", "settlement", s.ID, "error", err)
			}
			panic(http.ErrAbortHandler)
		}
	}}, nil
}

// writeLines writes a settlement with all its lines as JSON.
func (a *api) writeLines(ctx context.Context, w io.Writer, scope merchants.Scope, s pay.Settlement) error {
	v, err := a.settled(ctx, scope, s)
	if err != nil {
		return err
	}
	head, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, `{"settlement":%s,"transactions":[`, head); err != nil {
		return err
	}
	separator := ""
	err = a.uses.Settlements.EachLine(ctx, scope, s, func(l pay.SettlementLine) error {
		line, err := json.Marshal(view.NewSettlementLine(l))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s%s", separator, line)
		separator = ","
		return err
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "]}")
	return err
}
