package books

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/comparison"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// ReconciliationsTable is the table reconciliations.
var ReconciliationsTable = table.Describe(table.Table[comparison.Result]{
	Name:   "reconciliations",
	Hashed: true,
	Lock:   450,
	Of:     func(c *pay.Change) []comparison.Result { return c.Reconciliations },
	ID:     func(v *comparison.Result) string { return v.ID },
	Fields: func(f *table.Fields, v *comparison.Result) {
		f.Text("id!", &v.ID)
		f.Text("account!", &v.Account)
		f.Flag("live!", &v.Live)
		f.Time("period_from!", &v.From)
		f.Time("period_to!", &v.To)
		f.Count("findings!", &v.Count)
		f.Text("actor!", &v.By)
		f.Time("at!", &v.At)
		table.Document[reconciliationDoc](f, "doc!", v)
	},
})

// reconciliationDoc holds what no query filters by.
type reconciliationDoc struct {
	Reports  []string                 `json:"reports,omitempty"`
	Lines    int                      `json:"lines"`
	Charges  int                      `json:"charges"`
	Refunds  int                      `json:"refunds"`
	Charged  map[money.Currency]int64 `json:"charged,omitempty"`
	Refunded map[money.Currency]int64 `json:"refunded,omitempty"`
	Findings map[string]int           `json:"findings,omitempty"`
	PaysOut  bool                     `json:"paysOut,omitempty"`
}

func (d *reconciliationDoc) Of(_ *table.Fields, v *comparison.Result) {
	*d = reconciliationDoc{
		Reports:  v.Reports,
		Lines:    v.Lines,
		Charges:  v.Charges,
		Refunds:  v.Refunds,
		Charged:  v.Charged,
		Refunded: v.Refunded,
		Findings: v.Findings,
		PaysOut:  v.PaysOut,
	}
}

func (d *reconciliationDoc) Into(_ *table.Fields, v *comparison.Result) error {
	v.Reports = d.Reports
	v.Lines = d.Lines
	v.Charges = d.Charges
	v.Refunds = d.Refunds
	v.Charged = d.Charged
	v.Refunded = d.Refunded
	v.Findings = d.Findings
	v.PaysOut = d.PaysOut
	return nil
}

// DriftsTable is the table drifts.
var DriftsTable = table.Describe(table.Table[comparison.Drift]{
	Name:    "drifts",
	Hashed:  true,
	Lock:    310,
	Of:      func(c *pay.Change) []comparison.Drift { return c.Drifts },
	ID:      func(d *comparison.Drift) string { return d.ID },
	Version: func(d *comparison.Drift) int64 { return d.Version },
	Fields: func(f *table.Fields, d *comparison.Drift) {
		f.Text("id!", &d.ID)
		f.Number("version", &d.Version)
		f.Text("reconciliation!", &d.Reconciliation)
		f.Text("account!", &d.Account)
		f.Text("merchant!", &d.Merchant)
		f.Flag("live!", &d.Live)
		f.Time("period_from!", &d.From)
		f.Time("period_to!", &d.To)
		f.Count("findings!", &d.Findings)
		f.Number("amount!", &d.USD)
		f.Time("since!", &d.Since)
		f.Text("closed_by", &d.ClosedBy)
		f.Time("closed_at", &d.ClosedAt)
	},
})

var (
	selectReconciliations = engine.Statement(`
SELECT ` + ReconciliationsTable.List + ` FROM reconciliations
WHERE ($1 = '' OR account = $1) AND id < $2 ORDER BY id DESC LIMIT $3`)

	selectOpenDrifts = engine.Statement(`
SELECT ` + DriftsTable.List + ` FROM drifts
WHERE account = $1 AND closed_at = 0 ORDER BY id`)

	selectDrift = engine.Statement(`
SELECT CAST(coalesce(sum(findings), 0) AS BIGINT), CAST(coalesce(sum(amount), 0) AS BIGINT), coalesce(min(since), 0) FROM drifts
WHERE merchant = $1 AND live = $2 AND closed_at = 0`)
)

// List lists the newest comparisons with providers' reports, of one account or of all.
func (re Reconciliations) List(ctx context.Context, account, after string, limit int) ([]comparison.Result, error) {
	return base.Many(ctx, re.b, selectReconciliations, ReconciliationsTable.Scan(re.b.Personal), account, base.Before(after), limit)
}

// OpenDrifts lists an account's drifts that no later comparison replaced.
func (re Reconciliations) OpenDrifts(ctx context.Context, account string) ([]comparison.Drift, error) {
	return base.Many(ctx, re.b, selectOpenDrifts, DriftsTable.Scan(re.b.Personal), account)
}

// Drifted counts the drifts of a merchant's books, with their worth in USD cents and since when.
type Drifted struct {
	Count int64
	USD   int64
	Since time.Time
}

// Drift reads a merchant's open drifts.
func (re Reconciliations) Drift(ctx context.Context, scope merchants.Scope) (Drifted, error) {
	return base.One(ctx, re.b, selectDrift, func(r engine.Row) (d Drifted, err error) {
		var since int64
		err = r.Scan(&d.Count, &d.USD, &since)
		d.Since = table.FromMicros(since)
		return d, err
	}, scope.Merchant, scope.Live)
}

// Reconciliations are comparisons with providers' reports.
type Reconciliations struct{ b *base.Base }

// Reconciliations returns the database's Reconciliations.
func (o OfBooks) Reconciliations() Reconciliations { return Reconciliations(o) }
