package payments

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// CounterKey is the key of counters: their numbers are of the payments of that shop, day, kind and status.
const CounterKey = "shop, live, day, rail, country, status, method"

var countKinds = engine.Statement(`
SELECT day, rail, method, country, status, n FROM counters
WHERE shop = $1 AND live = $2 AND day >= $3 AND day < $4 AND n <> 0
UNION ALL SELECT created_at / 86400000000, rail, method, country, status, count(*) FROM processing
WHERE shop = $1 AND live = $2 AND created_at >= $3 * 86400000000 AND created_at < $4 * 86400000000
GROUP BY created_at / 86400000000, rail, method, country, status
ORDER BY 1, 2, 4, 5, 3`)

// Kinds counts the payments that were created from one day on and before another, by day, kind and present
// status. It reads counters, and the few payments in flight, which have none. Days are UTC.
func (pa Payments) Kinds(ctx context.Context, scope merchants.Scope, from, to time.Time) ([]lists.KindCount, error) {
	return base.Many(ctx, pa.b, countKinds, func(r engine.Row) (c lists.KindCount, err error) {
		var day int64
		err = r.Scan(&day, &c.Rail, &c.Method, &c.Country, &c.Status, &c.N)
		c.Day = time.UnixMicro(day * base.DayMicros).UTC()
		return c, err
	}, scope.Shop, scope.Live, from.UnixMicro()/base.DayMicros, to.UnixMicro()/base.DayMicros)
}
