package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/table"
)

const (
	// rollPage is how many counters a roll-up reads at a time.
	rollPage = 2000
)

var (
	raiseRolledUp  = engine.Standalone(`UPDATE watermarks SET day = $1 WHERE id = 'counters' AND day < $1 RETURNING day`)
	selectUnrolled = engine.Statement(`SELECT ` + payments.CounterKey + `, n, rolled FROM counters WHERE day >= $1 AND day < $2 AND n <> rolled ORDER BY day LIMIT $3`)
	// rollCounters upserts only existing rows: it finds them by key under any plan. One that has gone since it was
	// read belonged to a sandbox that is being emptied.
	rollCounters = engine.Standalone(`
INSERT INTO counters (` + payments.CounterKey + `, n, rolled)
SELECT ` + payments.CounterKey + `, n, rolled FROM {rows: ` + counterSpec + `} AS r
WHERE coalesce((SELECT c.rolled FROM counters AS c WHERE c.shop = r.shop AND c.live = r.live AND c.day = r.day AND c.rail = r.rail
  AND c.country = r.country AND c.status = r.status AND c.method = r.method), -1) = r.rolled
ON CONFLICT (` + payments.CounterKey + `) DO UPDATE SET rolled = excluded.n WHERE counters.rolled = excluded.rolled
RETURNING day`)
)

// RollUpEvery is how often a node calls RollUp: totals sum a day more only in the first minute of a day. When nothing is to be
// done, it reads one number.
const RollUpEvery = time.Minute

// RollUp adds the days before yesterday to the counters of all days: a payment is counted once when it is
// accepted, and a total sums only a few days. Every node may call it at any time, and must within
// base.SlackDays.
func (co *core) RollUp(ctx context.Context, now time.Time) error {
	done, err := co.b.ReadRolledUp(ctx)
	until := table.Micros(now)/base.DayMicros - 1
	if err != nil || until <= done {
		return err
	}
	if err := co.rollDays(ctx, co.b.Young(), until); err != nil {
		return err
	}
	if err := co.b.DB.Lease(ctx, co.b.Text(raiseRolledUp), []any{until}, nil); err != nil {
		return fmt.Errorf("note how far counters are rolled up: %w", err)
	}
	_, err = co.b.ReadRolledUp(ctx)
	return err
}

// rollDays adds a range of days to the counters of all days, except those already added.
func (co *core) rollDays(ctx context.Context, from, until int64) error {
	for {
		counts := map[counter]count{}
		err := co.b.Query(ctx, selectUnrolled, []any{from, until, rollPage}, func(r engine.Row) error {
			var k counter
			var c count
			err := r.Scan(&k.shop, &k.live, &k.day, &k.rail, &k.country, &k.status, &k.method, &c.n, &c.rolled)
			counts[k] = c
			return err
		})
		if err != nil {
			return fmt.Errorf("read the counters to roll up: %w", err)
		}
		if len(counts) == 0 {
			return nil
		}
		if err := co.roll(ctx, counts); err != nil {
			return fmt.Errorf("roll up counters: %w", err)
		}
	}
}

// roll rolls the counters up, one transaction per shop: all days first, in a commit's lock order. What
// another node did first is left for the next run.
func (co *core) roll(ctx context.Context, counts map[counter]count) error {
	shops := map[string]map[counter]count{}
	for k, c := range counts {
		if shops[k.shop] == nil {
			shops[k.shop] = map[counter]count{}
		}
		shops[k.shop][k] = c
	}
	for _, shop := range slices.Sorted(maps.Keys(shops)) {
		all := map[counter]count{}
		for k, c := range shops[shop] {
			k.day = base.AllDays
			all[k] = count{n: all[k].n + c.n - c.rolled}
		}
		err := base.ApplySlowly(ctx, co.b.DB, []engine.Step{
			{Text: co.b.Text(upsertCounters), Args: co.counterArgs(all)},
			{Text: co.b.Text(rollCounters), Args: co.counterArgs(shops[shop]), Want: len(shops[shop])},
		})
		// An unknown result is found rolled up, or not, at the next run.
		if err != nil && !errors.Is(err, engine.ErrLost) && !errors.Is(err, engine.ErrUnknown) {
			return err
		}
	}
	return nil
}
