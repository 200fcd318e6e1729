package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

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

var (
	reconciliationsTable = newTable("reconciliations", "id TEXT!, account TEXT!, live BOOLEAN!, period_from BIGINT!, period_to BIGINT!, "+
		"findings BIGINT!, actor TEXT!, at BIGINT!, doc TEXT!",
		func(v *pay.Reconciliation) string { return v.ID }, nil,
		func(r *rows, v *pay.Reconciliation) {
			doc := reconciliationDoc{v.Reports, v.Lines, v.Charges, v.Refunds, v.Charged, v.Refunded, v.Findings, v.PaysOut}
			r.text(v.ID, v.Account).flag(v.Live).number(micros(v.From), micros(v.To), int64(v.Count)).text(v.By).number(micros(v.At)).text(encode(doc))
		})

	driftsTable = newTable("drifts", "id TEXT!, version BIGINT, reconciliation TEXT!, account TEXT!, merchant TEXT!, live BOOLEAN!, "+
		"period_from BIGINT!, period_to BIGINT!, findings BIGINT!, amount BIGINT!, since BIGINT!, closed_by TEXT, closed_at BIGINT",
		func(d *pay.Drift) string { return d.ID }, func(d *pay.Drift) int64 { return d.Version },
		func(r *rows, d *pay.Drift) {
			r.text(d.ID).number(d.Version).text(d.Reconciliation, d.Account, d.Merchant).flag(d.Live).
				number(micros(d.From), micros(d.To), int64(d.Findings), d.USD, micros(d.Since)).text(d.ClosedBy).number(micros(d.ClosedAt))
		})
)

func reconciliations(c *pay.Change) []pay.Reconciliation { return c.Reconciliations }
func drifts(c *pay.Change) []pay.Drift                   { return c.Drifts }

const (
	selectReconciliations = `
SELECT id, account, live, period_from, period_to, findings, actor, at, doc FROM reconciliations
WHERE ($1 = '' OR account = $1) ORDER BY id DESC LIMIT $2`

	selectOpenDrifts = `
SELECT id, version, reconciliation, account, merchant, live, period_from, period_to, findings, amount, since FROM drifts
WHERE account = $1 AND closed_at = 0 ORDER BY id`

	selectDrift = `
SELECT CAST(coalesce(sum(findings), 0) AS BIGINT), CAST(coalesce(sum(amount), 0) AS BIGINT), coalesce(min(since), 0) FROM drifts
WHERE merchant = $1 AND live = $2 AND closed_at = 0`
)

// Reconciliations lists the newest comparisons with providers' reports, of one
// account or of all.
func (s *Store) Reconciliations(ctx context.Context, account string, limit int) ([]pay.Reconciliation, error) {
	return many(ctx, s, selectReconciliations, func(r row) (v pay.Reconciliation, err error) {
		var from, to, count, at int64
		var text string
		if err := r.Scan(&v.ID, &v.Account, &v.Live, &from, &to, &count, &v.By, &at, &text); err != nil {
			return v, err
		}
		var doc reconciliationDoc
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			return v, fmt.Errorf("reconciliation %s: %w", v.ID, err)
		}
		v.From, v.To, v.At, v.Count = fromMicros(from), fromMicros(to), fromMicros(at), int(count)
		v.Reports, v.Lines, v.Charges, v.Refunds = doc.Reports, doc.Lines, doc.Charges, doc.Refunds
		v.Charged, v.Refunded, v.Findings, v.PaysOut = doc.Charged, doc.Refunded, doc.Findings, doc.PaysOut
		return v, nil
	}, account, limit)
}

// OpenDrifts lists what comparisons of an account found and no later one took
// the place of.
func (s *Store) OpenDrifts(ctx context.Context, account string) ([]pay.Drift, error) {
	return many(ctx, s, selectOpenDrifts, func(r row) (d pay.Drift, err error) {
		var from, to, count, since int64
		err = r.Scan(&d.ID, &d.Version, &d.Reconciliation, &d.Account, &d.Merchant, &d.Live, &from, &to, &count, &d.USD, &since)
		d.From, d.To, d.Since, d.Findings = fromMicros(from), fromMicros(to), fromMicros(since), int(count)
		return d, err
	}, account)
}

// Drifted is how many differences from providers' reports a merchant's books
// have, what they are worth in USD cents, and since when.
type Drifted struct {
	Count int64
	USD   int64
	Since time.Time
}

// Drift reads a merchant's differences that are open.
func (s *Store) Drift(ctx context.Context, scope pay.Scope) (Drifted, error) {
	return one(ctx, s, selectDrift, func(r row) (d Drifted, err error) {
		var since int64
		err = r.Scan(&d.Count, &d.USD, &since)
		d.Since = fromMicros(since)
		return d, err
	}, scope.Merchant, scope.Live)
}

// driftRules are the invariants of comparisons with providers' reports (check.go).
var driftRules = []rule{
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
}
