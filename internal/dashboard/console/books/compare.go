package books

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/dashboard/console/desk"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/comparison"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/web"
)

const (
	// mostFindings is how many differences a page shows. All are counted.
	mostFindings = 200
	// past is how many comparisons are listed.
	past = 50
	// compareTime bounds a comparison's answer.
	compareTime = 2 * time.Minute
)

type compareView struct {
	desk.Form
	Accounts []frame.Option
	Past     []comparison.Result
	Done     *compared
}

// compared is a comparison's result.
type compared struct {
	reconciliation.Compared
	Findings []finding
	Charged  []money.Amount
	Refunded []money.Amount
	Kinds    []kind
	DryRun   bool
}

type finding struct {
	reconcile.Finding
	Meaning     string
	Here, There money.Amount
	USD         money.Amount
}

type kind struct {
	Meaning string
	N       int
}

func (pg *pages) comparisons(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	return pg.showComparisons(w, r, v, http.StatusOK, compareView{Form: desk.Typed(r, "account")})
}

func (pg *pages) showComparisons(w http.ResponseWriter, r *http.Request, v *frame.Visit, status int, view compareView) error {
	list, err := pg.Uses.Providers.Accounts(r.Context(), false)
	if err != nil {
		return err
	}
	for _, s := range list {
		view.Accounts = append(view.Accounts, frame.Option{Value: s.ID, Label: s.ID})
	}
	if view.Past, err = pg.Uses.Reconciliation.Reconciliations(r.Context(), "", past); err != nil {
		return err
	}
	return pg.Room.ShowStatus(w, r, v, status, "reconciliation", view)
}

// compare compares a report with the books.
func (pg *pages) compare(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	web.Allow(w, compareTime)
	view := compareView{Form: desk.Typed(r, "account", "from", "to", "shared", "dry")}
	done, err := pg.reconcile(w, r, v, view.Form)
	if err == nil {
		view.Done = done
		return pg.showComparisons(w, r, v, http.StatusOK, view)
	}
	status, fault := view.Refused(v, err)
	if fault != nil {
		return fault
	}
	return pg.showComparisons(w, r, v, status, view)
}

func (pg *pages) reconcile(w http.ResponseWriter, r *http.Request, v *frame.Visit, typed desk.Form) (*compared, error) {
	name, content, err := file(r, "report")
	if err != nil {
		return nil, err
	}
	account := typed.Value("account")
	format, err := pg.Uses.Reconciliation.ReportFormat(r.Context(), account)
	if err != nil {
		return nil, problem.Field(problem.InvalidRequest, "account", chooseReportAccount)
	}
	told := &compared{DryRun: typed.Value("dry") != ""}
	c := reconciliation.Comparison{
		Account: account, Format: format, Shared: typed.Value("shared") != "", DryRun: told.DryRun, By: v.Actor(),
		Reports: []reconciliation.Report{{Name: name, Reader: bytes.NewReader(content)}},
		Tell: func(f reconcile.Finding) {
			if len(told.Findings) < mostFindings {
				told.Findings = append(told.Findings, finding{f, f.Discrepancy.Meaning(), f.Here, f.There, money.New(f.USD, money.USD)})
			}
		},
	}
	period, err := frame.Days(r)
	if err != nil {
		return nil, err
	}
	c.From, c.To = period.From, period.To
	if told.Compared, err = pg.Uses.Reconciliation.Reconcile(r.Context(), c); err != nil {
		return nil, desk.Shown(err, "report")
	}
	told.Charged, told.Refunded = amounts(told.Compared.Charged), amounts(told.Compared.Refunded)
	for _, d := range reconcile.Discrepancies() {
		if n := told.Totals.Found[d]; n > 0 {
			told.Kinds = append(told.Kinds, kind{desk.Sentence(d.Meaning()), n})
		}
	}
	return told, nil
}

func amounts(of map[money.Currency]int64) (list []money.Amount) {
	for _, c := range slices.Sorted(maps.Keys(of)) {
		list = append(list, money.New(of[c], c))
	}
	return list
}
