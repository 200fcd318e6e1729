package accounts

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/admin/shape"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/comparison"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/danielgtaylor/huma/v2"
)

type comparisonsIn struct {
	call.PageQuery
	Account string `query:"account" maxLength:"64" doc:"Only comparisons of this account"`
}

type comparisonsOut struct {
	Body struct {
		Data       []shape.ReportComparison `json:"data"`
		Pagination call.Cursor              `json:"pagination"`
	}
}

type compareIn struct {
	call.AccountPath
	Body ReportsBody
}

// ReportsBody is a provider's report that is compared with the books.
type ReportsBody struct {
	_       struct{}      `additionalProperties:"false"`
	Reports []ReportFile  `json:"reports" minItems:"1" maxItems:"50" doc:"All are read as one report"`
	From    *time.Time    `json:"from,omitempty" doc:"Payments from then on must be in the report; its first date if it is left out"`
	To      *time.Time    `json:"to,omitempty" doc:"Payments before must be in the report; its last date if it is left out"`
	DryRun  bool          `json:"dryRun,omitempty" doc:"Keep no result, and warn no merchant"`
	Shared  bool          `json:"shared,omitempty" doc:"Other systems use the account too: lines without our reference are no differences"`
	Format  *ReportFormat `json:"format,omitempty" doc:"Left out: as the adapter knows it"`
}

// ReportFile is a file of a report.
type ReportFile struct {
	_       struct{} `additionalProperties:"false"`
	Name    string   `json:"name" minLength:"1" maxLength:"200" example:"november.csv"`
	Content []byte   `json:"content" doc:"CSV, in base64"`
}

// ReportFormat is how a report differs from the one that the adapter knows.
type ReportFormat struct {
	_          struct{}          `additionalProperties:"false"`
	Columns    map[string]string `json:"columns,omitempty" example:"{\"reference\":\"Merchant Reference\",\"amount\":\"Gross\"}" doc:"Stand for the whole report's"`
	Types      map[string]string `json:"types,omitempty" example:"{\"venda\":\"charge\"}" doc:"charge, refund, chargeback or other; of payouts payout, return or other"`
	Paid       []string          `json:"paid,omitempty" maxItems:"50" doc:"Words in the status column which say that money moved"`
	Separator  string            `json:"separator,omitempty" enum:"auto,comma,semicolon,tab,bar"`
	Decimal    string            `json:"decimal,omitempty" enum:"point,comma"`
	Units      string            `json:"units,omitempty" enum:"major,minor"`
	Currency   string            `json:"currency,omitempty" maxLength:"3" doc:"If the report has no column for it"`
	DateFormat string            `json:"dateFormat,omitempty" maxLength:"40" example:"DD/MM/YYYY hh:mm:ss"`
	Zone       string            `json:"zone,omitempty" maxLength:"40" example:"America/Sao_Paulo" doc:"Of dates that name none; UTC if it is left out"`
}

type comparedOut struct{ Body shape.ComparedReport }

func (a *api) reconciliationRoutes() {
	op := func(id, method, path, summary, text string) huma.Operation {
		return huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, Description: text, Tags: []string{"Books"}}
	}
	call.Handle(a.API, operators.View, op("listReconciliations", http.MethodGet, "/reconciliations", "List the results of comparisons with providers' reports", "Newest first."), nil, a.comparisons)
	compare := call.Creates(op("reconcile", http.MethodPost, "/accounts/{id}/reconciliations", "Compare a provider's report with the books",
		"Merchants whose books differ are warned until a later comparison finds no difference. The body has 12 MiB at most."))
	compare.MaxBodyBytes = call.MaxFileBody
	call.Handle(a.API, operators.Reconciliation, compare, nil, a.compare)
}

func (a *api) comparisons(ctx context.Context, _ audit.Actor, in *comparisonsIn) (*comparisonsOut, error) {
	list, err := a.Uses.Lists.Comparisons(ctx, in.Account, in.Rows())
	if err != nil {
		return nil, err
	}
	out := &comparisonsOut{}
	out.Body.Data, out.Body.Pagination = call.Paged(in.PageQuery, list, func(r comparison.Result) string { return r.ID }, shape.NewReportComparison)
	return out, nil
}

func (a *api) compare(ctx context.Context, by audit.Actor, in *compareIn) (*comparedOut, error) {
	format, err := a.Uses.Reconciliation.ReportFormat(ctx, in.ID)
	if err != nil {
		return nil, call.About("id", err)
	}
	if f := in.Body.Format; f != nil {
		format, err = reconciliation.FormatChanges{
			Columns: f.Columns, Types: f.Types, Paid: f.Paid, Separator: f.Separator, Decimal: f.Decimal, Units: f.Units, Currency: f.Currency, DateFormat: f.DateFormat, Zone: f.Zone,
		}.Apply(format)
		if err != nil {
			return nil, call.About("format", err)
		}
	}
	var findings []shape.ReportDifference
	c := reconciliation.Comparison{
		Account: in.ID, Format: format, From: call.TimeOr(in.Body.From), To: call.TimeOr(in.Body.To), Shared: in.Body.Shared, DryRun: in.Body.DryRun, By: by,
		Tell: func(f reconcile.Finding) {
			if len(findings) < call.MostFindings {
				findings = append(findings, shape.NewReportDifference(f))
			}
		},
	}
	for _, report := range in.Body.Reports {
		c.Reports = append(c.Reports, reconciliation.Report{Name: report.Name, Reader: strings.NewReader(string(report.Content))})
	}
	done, err := a.Uses.Reconciliation.Reconcile(ctx, c)
	if err != nil {
		return nil, call.About("reports", err)
	}
	return &comparedOut{shape.NewComparedReport(done, findings)}, nil
}
