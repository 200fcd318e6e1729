package store

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var reconciliationsTable = describe(table[pay.Reconciliation]{
	name: "reconciliations",
	of:   func(c *pay.Change) []pay.Reconciliation { return c.Reconciliations },
	id:   func(v *pay.Reconciliation) string { return v.ID },
	fields: func(f *fields, v *pay.Reconciliation) {
		f.text("id!", &v.ID)
		f.text("account!", &v.Account)
		f.flag("live!", &v.Live)
		f.time("period_from!", &v.From)
		f.time("period_to!", &v.To)
		f.count("findings!", &v.Count)
		f.text("actor!", &v.By)
		f.time("at!", &v.At)
		document[reconciliationDoc](f, "doc!", v)
	},
})

// reconciliationDoc is what no query asks for.
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

func (d *reconciliationDoc) of(_ *fields, v *pay.Reconciliation) {
	*d = reconciliationDoc{v.Reports, v.Lines, v.Charges, v.Refunds, v.Charged, v.Refunded, v.Findings, v.PaysOut}
}

func (d *reconciliationDoc) into(_ *fields, v *pay.Reconciliation) error {
	v.Reports, v.Lines, v.Charges, v.Refunds = d.Reports, d.Lines, d.Charges, d.Refunds
	v.Charged, v.Refunded, v.Findings, v.PaysOut = d.Charged, d.Refunded, d.Findings, d.PaysOut
	return nil
}

var driftsTable = describe(table[pay.Drift]{
	name:    "drifts",
	of:      func(c *pay.Change) []pay.Drift { return c.Drifts },
	id:      func(d *pay.Drift) string { return d.ID },
	version: func(d *pay.Drift) int64 { return d.Version },
	fields: func(f *fields, d *pay.Drift) {
		f.text("id!", &d.ID)
		f.number("version", &d.Version)
		f.text("reconciliation!", &d.Reconciliation)
		f.text("account!", &d.Account)
		f.text("merchant!", &d.Merchant)
		f.flag("live!", &d.Live)
		f.time("period_from!", &d.From)
		f.time("period_to!", &d.To)
		f.count("findings!", &d.Findings)
		f.number("amount!", &d.USD)
		f.time("since!", &d.Since)
		f.text("closed_by", &d.ClosedBy)
		f.time("closed_at", &d.ClosedAt)
	},
})

var (
	selectReconciliations = engine.Statement(`
SELECT ` + reconciliationsTable.list + ` FROM reconciliations
WHERE ($1 = '' OR account = $1) ORDER BY id DESC LIMIT $2`)

	selectOpenDrifts = engine.Statement(`
SELECT ` + driftsTable.list + ` FROM drifts
WHERE account = $1 AND closed_at = 0 ORDER BY id`)

	selectDrift = engine.Statement(`
SELECT CAST(coalesce(sum(findings), 0) AS BIGINT), CAST(coalesce(sum(amount), 0) AS BIGINT), coalesce(min(since), 0) FROM drifts
WHERE merchant = $1 AND live = $2 AND closed_at = 0`)
)

// List lists the newest comparisons with providers' reports, of one
// account or of all.
func (s *Reconciliations) List(ctx context.Context, account string, limit int) ([]pay.Reconciliation, error) {
	return many(ctx, s, selectReconciliations, reconciliationsTable.scan(s), account, limit)
}

// OpenDrifts lists what comparisons of an account found and no later one took
// the place of.
func (s *Reconciliations) OpenDrifts(ctx context.Context, account string) ([]pay.Drift, error) {
	return many(ctx, s, selectOpenDrifts, driftsTable.scan(s), account)
}

// Drifted is how many differences from providers' reports a merchant's books
// have, what they are worth in USD cents, and since when.
type Drifted struct {
	Count int64
	USD   int64
	Since time.Time
}

// Drift reads a merchant's differences that are open.
func (s *Reconciliations) Drift(ctx context.Context, scope tenant.Scope) (Drifted, error) {
	return one(ctx, s, selectDrift, func(r engine.Row) (d Drifted, err error) {
		var since int64
		err = r.Scan(&d.Count, &d.USD, &since)
		d.Since = fromMicros(since)
		return d, err
	}, scope.Merchant, scope.Live)
}

// driftRules are the invariants of comparisons with providers' reports (check.go).
var driftRules = invariants([]rule{
	{"a drift is of a comparison of its account and environment, and of a merchant", `
SELECT d.id, d.reconciliation FROM drifts AS d
LEFT JOIN reconciliations AS r ON r.id = d.reconciliation LEFT JOIN merchants AS m ON m.id = d.merchant
WHERE r.id IS NULL OR m.id IS NULL OR r.account <> d.account OR r.live <> d.live OR r.period_from <> d.period_from OR r.period_to <> d.period_to`},
	{"a drift is closed by a later comparison that covers its period", `
SELECT d.id, d.closed_by FROM drifts AS d LEFT JOIN reconciliations AS r ON r.id = d.closed_by
WHERE d.closed_at <> 0 AND (r.id IS NULL OR r.account <> d.account OR r.period_from > d.period_from OR r.period_to < d.period_to)`},
	{"the drifts of a comparison are at most its findings", `
SELECT r.id, r.findings || ' findings, drifts ' || sum(d.findings) FROM reconciliations AS r JOIN drifts AS d ON d.reconciliation = r.id
GROUP BY r.id, r.findings HAVING sum(d.findings) > r.findings`},
})
