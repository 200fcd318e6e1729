package store

import (
	"context"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/check"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/merchants"
	"github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/schema"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

// A counter's error is the difference between the rows and the counter in one snapshot: a commit changes
// both by the same amount. Adding that difference is correct with commits before, between and after. It is not
// while a sandbox is emptied: a reset deletes rows and counters apart, and what is added to a counter that it has deleted
// since would stay (SBX-16).
var (
	repairPayments = engine.Standalone(`
INSERT INTO counters (` + payments.CounterKey + `, n, rolled)
SELECT coalesce(c.shop, p.shop), coalesce(c.live, p.live), coalesce(c.day, p.day) AS of_day, coalesce(c.rail, p.rail), coalesce(c.country, p.country),
  coalesce(c.status, p.status), coalesce(c.method, p.method), coalesce(p.n, 0) - coalesce(c.n, 0), 0
FROM (SELECT * FROM counters WHERE day >= 0) AS c FULL JOIN (
  SELECT shop, live, created_at / 86400000000 AS day, rail, method, country, status, count(*) AS n FROM payments
  GROUP BY shop, live, created_at / 86400000000, rail, method, country, status
) AS p ON c.shop = p.shop AND c.live = p.live AND c.day = p.day AND c.rail = p.rail AND c.method = p.method AND c.country = p.country AND c.status = p.status
WHERE coalesce(c.n, 0) <> coalesce(p.n, 0) AND ` + merchants.NotEmptiedShop("coalesce(c.shop, p.shop)", "coalesce(c.live, p.live)") + `
ORDER BY 1, 3, 4, 5, 6, 7, 2
ON CONFLICT (` + payments.CounterKey + `) DO UPDATE SET n = counters.n + excluded.n
RETURNING 'payments: ' || shop || ' day ' || day || ' ' || rail || ' ' || status, n`)

	repairAllDays = engine.Standalone(`
INSERT INTO counters (` + payments.CounterKey + `, n, rolled)
SELECT coalesce(c.shop, d.shop), coalesce(c.live, d.live), -1, coalesce(c.rail, d.rail), coalesce(c.country, d.country),
  coalesce(c.status, d.status), coalesce(c.method, d.method), coalesce(d.n, 0) - coalesce(c.n, 0), 0
FROM (SELECT * FROM counters WHERE day < 0) AS c FULL JOIN (
  SELECT shop, live, rail, method, country, status, CAST(sum(rolled) AS BIGINT) AS n FROM counters WHERE day >= 0
  GROUP BY shop, live, rail, method, country, status
) AS d ON c.shop = d.shop AND c.live = d.live AND c.rail = d.rail AND c.method = d.method AND c.country = d.country AND c.status = d.status
WHERE coalesce(c.n, 0) <> coalesce(d.n, 0) AND ` + merchants.NotEmptiedShop("coalesce(c.shop, d.shop)", "coalesce(c.live, d.live)") + `
ORDER BY 1, 4, 5, 6, 7, 2
ON CONFLICT (` + payments.CounterKey + `) DO UPDATE SET n = counters.n + excluded.n
RETURNING 'payments of all days: ' || shop || ' ' || rail || ' ' || status, n`)

	repairDeliveries = engine.Standalone(`
INSERT INTO delivery_counters (` + webhooks.DeliveryCounterKey + `, n, last_at)
SELECT coalesce(c.subscription, d.subscription), coalesce(c.status, d.status), coalesce(c.type, d.type), coalesce(d.n, 0) - coalesce(c.n, 0), coalesce(d.last_at, 0)
FROM delivery_counters AS c FULL JOIN (
  SELECT ` + webhooks.DeliveryCounterKey + `, count(*) AS n, max(created_at) AS last_at FROM deliveries WHERE status <> 'pending' GROUP BY ` + webhooks.DeliveryCounterKey + `
) AS d ON c.subscription = d.subscription AND c.status = d.status AND c.type = d.type
WHERE coalesce(c.n, 0) <> coalesce(d.n, 0) AND ` + merchants.NotEmptiedEndpoint("coalesce(c.subscription, d.subscription)") + `
ORDER BY 1, 2, 3
` + addToDeliveryCounters + `
RETURNING 'deliveries: ' || subscription || ' ' || type || ' ' || status, n`)

	// A balance has a row from its first transfer on.
	repairMovements = engine.Standalone(`
UPDATE balances SET movements = balances.movements + w.wrong
FROM (
  SELECT b.merchant, b.live, coalesce(m.n, 0) - b.movements AS wrong FROM balances AS b LEFT JOIN (
    SELECT merchant, live, CAST(sum(n) AS BIGINT) AS n FROM (
      SELECT t.merchant, t.live, CASE WHEN t.kind = 'capture'
        THEN 1 + max(CASE WHEN j.key LIKE '%fees' THEN 1 ELSE 0 END) + max(CASE WHEN j.key = 'reserve' THEN 2 ELSE 0 END)
        ELSE sum(CASE WHEN j.key IN ('pending', 'available', 'frozen', 'reserve') THEN 1 ELSE 0 END) END AS n
      FROM transfers AS t, {each t.postings} AS j GROUP BY t.id, t.merchant, t.live, t.kind) AS each_one GROUP BY merchant, live
  ) AS m ON m.merchant = b.merchant AND m.live = b.live WHERE coalesce(m.n, 0) <> b.movements AND ` + merchants.NotEmptied("b.merchant", "b.live") + `
) AS w
WHERE w.merchant = balances.merchant AND w.live = balances.live
RETURNING 'movements: ' || balances.merchant || CASE WHEN balances.live THEN ' production' ELSE ' sandbox' END, balances.movements`)
)

// RepairCounters recounts the counters behind the totals of lists and the totals of analytics, while commits continue, and returns each
// fixed counter with its new value. Older programs that count wrongly must be gone.
func (co *core) RepairCounters(ctx context.Context) (mended []string, err error) {
	ctx, cancel := base.Long(ctx)
	defer cancel()
	for _, text := range []string{repairDeliveries, repairMovements, repairPayments} {
		list, err := co.repair(ctx, text)
		if mended = append(mended, list...); err != nil {
			return mended, fmt.Errorf("repair counters: %w", err)
		}
	}
	// They may include days that no list sums up by itself.
	until, err := co.b.ReadRolledUp(ctx)
	if err != nil {
		return mended, err
	}
	if err := co.rollDays(ctx, 0, until); err != nil {
		return mended, err
	}
	list, err := co.repair(ctx, repairAllDays)
	if mended = append(mended, list...); err != nil {
		return mended, fmt.Errorf("repair counters: %w", err)
	}
	list, err = co.repairRollups(ctx)
	return append(mended, list...), err
}

// repairRollups counts analytics again if a total is wrong, and returns the wrong ones.
func (co *core) repairRollups(ctx context.Context) (mended []string, err error) {
	for _, text := range check.RollupTexts() {
		wrong, err := base.Many(ctx, co.b, text, func(r engine.Row) (string, error) {
			var what, how string
			err := r.Scan(&what, &how)
			return "analytics: " + what + ": " + how + ": counted again", err
		})
		if mended = append(mended, wrong...); err != nil {
			return nil, fmt.Errorf("look for wrong analytics: %w", err)
		}
	}
	if len(mended) == 0 {
		return nil, nil
	}
	rollups := payments.New(co.b).Rollups()
	if err := rollups.Recount(ctx); err != nil {
		return nil, err
	}
	for {
		end, err := rollups.RecountEnd(ctx)
		if err != nil || end == "" {
			return mended, err
		}
		if _, err := rollups.AddUp(ctx); err != nil {
			return mended, err
		}
	}
}

// repair runs one statement, excluding all other repairs: two would add a difference twice.
func (co *core) repair(ctx context.Context, text string) (mended []string, err error) {
	for tries := 1; ; tries++ {
		mended = nil
		err := co.b.DB.Migrate(ctx, func(m engine.Migrator) error {
			return m.Query(text, func(r engine.Row) error {
				var what string
				var n int64
				err := r.Scan(&what, &n)
				mended = append(mended, fmt.Sprintf("%s is %d now", what, n))
				return err
			})
		})
		if !engine.LockTaken(err) || tries == repairTries {
			return mended, err
		}
		if !engine.Rest(time.Duration(tries)*schema.LockPause, ctx.Done()) {
			return nil, ctx.Err()
		}
	}
}

// repairTries is how often a statement is retried after a deadlock with a commit.
const repairTries = 10
