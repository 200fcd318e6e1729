package payments

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay/analytics"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// DayTotal is a total of a day.
type DayTotal struct {
	Day     time.Time
	Outcome analytics.Outcome
	analytics.Total
}

// ValueTotal is the total of a value in a span.
type ValueTotal struct {
	Value   string
	Outcome analytics.Outcome
	Before  bool // of the days before the middle
	analytics.Total
}

var (
	// Each also reads the oldest facts that are not added up yet, in the same snapshot: while few payments end, what a
	// shop sees is never late.
	selectDayTotals = engine.Statement(`
SELECT day, outcome, n, amount, fees, '' AS doc FROM rollups
WHERE shop = $1 AND live = $2 AND dimension = 'all' AND day >= $3 AND day < $4
UNION ALL SELECT 0, '', 0, 0, 0, doc FROM (SELECT doc FROM facts ORDER BY at, id LIMIT $5) AS waiting`)
	selectValueTotals = engine.Statement(`
SELECT value, outcome, day < $5, CAST(sum(n) AS BIGINT), CAST(sum(amount) AS BIGINT), CAST(sum(fees) AS BIGINT), '' AS doc FROM rollups
WHERE shop = $1 AND live = $2 AND dimension = $3 AND day >= $4 AND day < $6 GROUP BY value, outcome, day < $5
UNION ALL SELECT '', '', FALSE, 0, 0, 0, doc FROM (SELECT doc FROM facts ORDER BY at, id LIMIT $7) AS waiting`)
)

// freshFacts is how many rows of facts a page reads that are not added up yet.
const freshFacts = 20

// Days returns the totals of each day, which may come twice, from the first one on and before the last one. Days are UTC. The shop
// analytics.Everyone has the totals of all.
func (r *Rollups) Days(ctx context.Context, shop string, live bool, from, to time.Time) ([]DayTotal, error) {
	first, last := from.UnixMicro()/base.DayMicros, to.UnixMicro()/base.DayMicros
	fresh := newAdded("")
	var list []DayTotal
	err := r.b.Query(ctx, selectDayTotals, []any{shop, live, first, last, freshFacts}, func(row engine.Row) error {
		var t DayTotal
		var day int64
		var doc string
		if err := row.Scan(&day, &t.Outcome, &t.N, &t.Amount, &t.Fees, &doc); err != nil {
			return err
		}
		if doc != "" {
			fresh.addRows([]factRow{{doc: doc}}, func(factRow, error) {}) // AddUp logs it
			return nil
		}
		t.Day = dayAt(day)
		list = append(list, t)
		return nil
	})
	for k, t := range fresh.totals() {
		if k.Shop == shop && k.Live == live && k.Dimension == analytics.ByAll && k.Day >= first && k.Day < last {
			list = append(list, DayTotal{dayAt(k.Day), k.Outcome, t})
		}
	}
	return list, err
}

func dayAt(day int64) time.Time { return time.UnixMicro(day * base.DayMicros).UTC() }

// Values returns the totals of each value of a dimension in the days from one on and before another, apart for the
// days before the middle and the others. A value may come twice: add them up.
func (r *Rollups) Values(ctx context.Context, shop string, live bool, d analytics.Dimension, from, middle, to time.Time) ([]ValueTotal, error) {
	first, mid, last := from.UnixMicro()/base.DayMicros, middle.UnixMicro()/base.DayMicros, to.UnixMicro()/base.DayMicros
	fresh := newAdded("")
	var list []ValueTotal
	err := r.b.Query(ctx, selectValueTotals, []any{shop, live, string(d), first, mid, last, freshFacts}, func(row engine.Row) error {
		var t ValueTotal
		var doc string
		if err := row.Scan(&t.Value, &t.Outcome, &t.Before, &t.N, &t.Amount, &t.Fees, &doc); err != nil {
			return err
		}
		if doc != "" {
			fresh.addRows([]factRow{{doc: doc}}, func(factRow, error) {}) // AddUp logs it
			return nil
		}
		list = append(list, t)
		return nil
	})
	for k, t := range fresh.totals() {
		if k.Shop == shop && k.Live == live && k.Dimension == d && k.Day >= first && k.Day < last {
			list = append(list, ValueTotal{
				Value:   k.Value,
				Outcome: k.Outcome,
				Before:  k.Day < mid,
				Total:   t,
			})
		}
	}
	return list, err
}
