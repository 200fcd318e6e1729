package due

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/chain"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/table"
)

// openWork is a kind of object that stays open until somebody ends it, with a query for when its oldest one
// began; 0 for none. Objects that wait for a test clock do not count where their row shows it.
type openWork struct{ kind, since string }

// IsOpen is the condition of the index claims_open, word for word.
const IsOpen = `d.status IN ('pending', 'needs_evidence', 'under_review')`

var openWorks = []openWork{
	{"unknown outcome", `SELECT min(u.at) FROM (
  SELECT min(d.unsure_at) AS at FROM payments AS d WHERE d.unsure_at > 0 AND NOT ` + base.OnClock + `
  UNION ALL SELECT min(d.unsure_at) FROM processing AS d WHERE d.unsure_at > 0 AND NOT ` + base.OnClock + `) AS u`},
	{"refund", `SELECT min(d.created_at) FROM claims AS d WHERE ` + IsOpen + ` AND d.kind = 'user_dispute' AND NOT ` + base.OnClock},
	// An inquiry that waits for a time, or for its provider, is due then.
	{"late money", `SELECT min(d.created_at) FROM claims AS d WHERE ` + IsOpen + ` AND d.kind = 'inquiry' AND NOT ` + base.OnClock},
	{"dispute under review", `SELECT min(d.created_at) FROM claims AS d
  WHERE ` + IsOpen + ` AND d.kind = 'chargeback' AND d.status = 'under_review' AND NOT ` + base.OnClock},
	{"evidence to submit", `SELECT min(CAST({json d.doc carry} AS BIGINT)) FROM claims AS d
  WHERE ` + IsOpen + ` AND d.kind = 'chargeback' AND CAST({json d.doc carry} AS BIGINT) > 0 AND NOT ` + base.OnClock},
	{"withdrawal", `SELECT min(d.created_at) FROM withdrawals AS d WHERE d.due_at > 0 AND d.status = 'processing' AND NOT ` + base.OnClock},
	{"withdrawal without money", `SELECT min(d.created_at) FROM withdrawals AS d
  WHERE d.due_at > 0 AND d.status = 'pending' AND {json d.doc waiting} IN ('float_short', 'payout_delayed', 'no_payout_account') AND NOT ` + base.OnClock},
	{"withdrawal that is held", `SELECT min(d.created_at) FROM withdrawals AS d
  WHERE d.due_at > 0 AND d.status = 'pending' AND {json d.doc waiting} NOT IN ('float_short', 'payout_delayed', 'no_payout_account') AND NOT ` + base.OnClock},
	{"notification that does not fit", `SELECT min(m.at) FROM misfits AS m`},
	{"verification", `SELECT min(d.updated_at) FROM verifications AS d
  WHERE d.status IN ('requires_input', 'processing') AND d.status = 'processing' AND NOT ` + base.OnClock},
	// Its net waits for the merchant: no withdrawal covers it, it is not paid automatically, and the money is there.
	{"settlement to be paid", `SELECT min(d.period_end) FROM settlements AS d JOIN balances AS b ON b.merchant = d.merchant AND b.live = d.live
  WHERE d.status = 'closed' AND d.live AND d.covered < d.net AND d.net - d.covered <= b.available AND {json d.doc automatic} IS NULL`},
	{"row that cannot be read", `SELECT min(q.since) FROM (` + SelectQuarantined + `) AS q`},
}

// OpenKinds lists the kinds of objects in OldestOpen.
func OpenKinds() (kinds []string) {
	for _, w := range openWorks {
		kinds = append(kinds, w.kind)
	}
	return kinds
}

// WorkKinds lists the kinds of due work in OldestDue.
func WorkKinds() (kinds []string) {
	for _, d := range Duties() {
		kinds = append(kinds, d.Name)
	}
	return append(kinds, chain.SealWork, payments.FactsWork)
}

var selectOldestOpen = engine.Statement(func() string {
	parts := slices.Grow([]string{}, len(openWorks))
	for _, w := range openWorks {
		parts = append(parts, "SELECT '"+w.kind+"', coalesce(("+w.since+"), 0)")
	}
	return strings.Join(parts, "\nUNION ALL\n")
}())

// OldestOpen returns when the oldest open object of each kind was opened; zero for none.
func OldestOpen(ctx context.Context, s *base.Base) (map[string]time.Time, error) {
	open := map[string]time.Time{}
	err := s.Query(ctx, selectOldestOpen, nil, func(r engine.Row) error {
		var kind string
		var at int64
		err := r.Scan(&kind, &at)
		open[kind] = table.FromMicros(at)
		return err
	})
	return open, err
}
