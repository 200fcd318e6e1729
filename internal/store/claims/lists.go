package claims

import (
	"context"
	"fmt"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// An index has the claims of each kind by id. A list walks it from its newest row, and a count reads nothing
// else.
var (
	refundsOfShop    = ` FROM claims WHERE shop = $1 AND live = $2 AND kind = 'user_dispute' AND ($3 = '' OR status = $3)`
	refundsOfPayment = ` FROM claims WHERE payment = $4 AND shop = $1 AND live = $2 AND kind = 'user_dispute' AND ($3 = '' OR status = $3)`

	ListRefunds          = engine.Statement(`SELECT ` + Table.List + refundsOfShop + ` AND id < $4 ORDER BY id DESC LIMIT $5`)
	CountRefunds         = engine.Statement(`SELECT count(*)` + refundsOfShop)
	listRefundsOfPayment = engine.Statement(`SELECT ` + Table.List + refundsOfPayment + ` AND id < $5 ORDER BY id DESC LIMIT $6`)
	countRefundsPayment  = engine.Statement(`SELECT count(*)` + refundsOfPayment)

	disputesOfShop = ` FROM claims WHERE shop = $1 AND live = $2 AND kind IN ('chargeback', 'inquiry')`
	dueBy          = `coalesce(CAST({json doc dueBy} AS BIGINT), 0)`

	// Only few disputes wait for evidence at a time: their deadline is days away.
	ListUrgentDisputes = engine.Statement(`SELECT ` + Table.List + disputesOfShop + ` AND status = 'needs_evidence'
  AND (` + dueBy + ` > $3 OR ` + dueBy + ` = $3 AND id > $4) ORDER BY ` + dueBy + `, id LIMIT $5`)
	ListDisputesInReview = engine.Statement(newestDisputes(`IN ('pending', 'under_review')`))
	ListEndedDisputes    = engine.Statement(newestDisputes(`NOT IN ('pending', 'needs_evidence', 'under_review')`))
	CountDisputes        = engine.Statement(`SELECT status, count(*)` + disputesOfShop + ` GROUP BY status`)
)

// newestDisputes reads disputes newest first: each kind yields its newest ids, and the newest of all are read.
func newestDisputes(status string) string {
	var parts []string
	for _, kind := range []pay.ClaimKind{pay.ChargebackClaim, pay.Inquiry} {
		parts = append(parts, fmt.Sprintf(`SELECT id FROM (SELECT id FROM claims
  WHERE shop = $1 AND live = $2 AND kind = '%[1]s' AND status %[2]s AND id < $3 ORDER BY id DESC LIMIT $4) AS of_%[1]s`, kind, status))
	}
	return `SELECT ` + Table.ListOf("c") + ` FROM (
` + strings.Join(parts, "\nUNION ALL ") + `
) AS found JOIN claims AS c ON c.id = found.id ORDER BY c.id DESC LIMIT $4`
}

// Refunds lists a shop's refunds, newest first, and counts the filter's matches. The filter's kind and
// offset do not count.
func (c Claims) Refunds(ctx context.Context, scope merchants.Scope, f lists.ClaimFilter) ([]pay.Claim, int64, error) {
	where, count, list := []any{scope.Shop, scope.Live, string(f.Status)}, CountRefunds, ListRefunds
	if f.Payment != "" {
		where, count, list = append(where, f.Payment), countRefundsPayment, listRefundsOfPayment
	}
	total, err := base.One(ctx, c.b, count, base.ScanInt, where...)
	if err != nil {
		return nil, 0, err
	}
	found, err := base.Many(ctx, c.b, list, Table.Scan(c.b.Personal), append(where, base.Before(f.After), f.Limit)...)
	return found, total, err
}

// Disputes lists a shop's disputes and inquiries of a stage, beginning after the claim after: those
// that need evidence by their deadline, nearest first; others newest first. A zero claim is before
// all.
func (c Claims) Disputes(ctx context.Context, scope merchants.Scope, stage pay.DisputeStage, after pay.Claim, limit int) ([]pay.Claim, error) {
	text, behind := ListEndedDisputes, []any{base.Before(after.ID)}
	switch stage {
	case pay.StageEvidence:
		due := int64(-1)
		if after.ID != "" {
			due = table.Micros(after.DueBy)
		}
		text, behind = ListUrgentDisputes, []any{due, after.ID}
	case pay.StageReview:
		text = ListDisputesInReview
	}
	args := append([]any{scope.Shop, scope.Live}, behind...)
	return base.Many(ctx, c.b, text, Table.Scan(c.b.Personal), append(args, limit)...)
}

// CountDisputes counts a shop's disputes and inquiries by stage.
func (c Claims) CountDisputes(ctx context.Context, scope merchants.Scope) (map[pay.DisputeStage]int64, error) {
	counts := map[pay.DisputeStage]int64{}
	err := c.b.Query(ctx, CountDisputes, []any{scope.Shop, scope.Live}, func(r engine.Row) error {
		var status pay.ClaimStatus
		var n int64
		err := r.Scan(&status, &n)
		counts[status.Stage()] += n
		return err
	})
	return counts, err
}
