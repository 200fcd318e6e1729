package payments

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var countDays = engine.Statement(`
SELECT day, status, CAST(sum(n) AS BIGINT) FROM counters
WHERE shop = $1 AND live = $2 AND day >= $3 AND day < $4 GROUP BY day, status ORDER BY day, status`)

// Days counts the payments that were created from one day on and before another, by day and present status.
// It reads only counters: payments with an unknown outcome have none. Days are UTC.
func (pa Payments) Days(ctx context.Context, scope merchants.Scope, from, to time.Time) ([]lists.DayCount, error) {
	return base.Many(ctx, pa.b, countDays, func(r engine.Row) (c lists.DayCount, err error) {
		var day int64
		err = r.Scan(&day, &c.Status, &c.N)
		c.Day = time.UnixMicro(day * base.DayMicros).UTC()
		return c, err
	}, scope.Shop, scope.Live, from.UnixMicro()/base.DayMicros, to.UnixMicro()/base.DayMicros)
}
