package payments

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var countDays = engine.Statement(`
SELECT day, status, CAST(sum(n) AS BIGINT) FROM counters
WHERE shop = $1 AND live = $2 AND day >= $3 AND day < $4 GROUP BY day, status ORDER BY day, status`)

// Days counts the payments that were created from one day on and before another, by day and present status.
// It reads counters alone: payments with an unknown outcome have none. Days are UTC.
func (s *Payments) Days(ctx context.Context, scope tenant.Scope, from, to time.Time) ([]pay.DayCount, error) {
	return base.Many(ctx, s.b, countDays, func(r engine.Row) (c pay.DayCount, err error) {
		var day int64
		err = r.Scan(&day, &c.Status, &c.N)
		c.Day = time.UnixMicro(day * base.DayMicros).UTC()
		return c, err
	}, scope.Shop, scope.Live, from.UnixMicro()/base.DayMicros, to.UnixMicro()/base.DayMicros)
}

// Each status yields its rows by the index of statuses, and no more than are added up.
var sumPaid = engine.Statement(`
SELECT CAST(coalesce(sum(amount), 0) AS BIGINT), count(*) FROM (
  SELECT amount FROM (SELECT amount FROM payments WHERE shop = $1 AND live = $2 AND status = 'completed' AND id >= $3 AND id < $4 LIMIT $5) AS completed
  UNION ALL SELECT amount FROM (SELECT amount FROM payments WHERE shop = $1 AND live = $2 AND status = 'refunded' AND id >= $3 AND id < $4 LIMIT $5) AS refunded
  UNION ALL SELECT amount FROM (SELECT amount FROM payments WHERE shop = $1 AND live = $2 AND status = 'chargeback' AND id >= $3 AND id < $4 LIMIT $5) AS disputed
) AS paid`)

// Paid adds up the payments of a span that were paid, whatever became of them later, in USD cents, and counts
// them. It reads each of them, so it stops after limit payments of a status: n is then at least limit.
func (s *Payments) Paid(ctx context.Context, scope tenant.Scope, span pay.Span, limit int) (cents, n int64, err error) {
	from, below := paymentIDs(pay.PaymentFilter{Span: span})
	err = s.b.Query(ctx, sumPaid, []any{scope.Shop, scope.Live, from, below, limit}, func(r engine.Row) error { return r.Scan(&cents, &n) })
	return cents, n, err
}
