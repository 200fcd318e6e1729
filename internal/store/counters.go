package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// allDays is the day of the counters that count a shop's whole life, but for
// the young days.
const allDays = -1

// dayMicros is a day of times in the database.
const dayMicros = 24 * 60 * 60 * 1_000_000

// counter is what a list may be filtered by, and a day.
type counter struct {
	shop                          string
	live                          bool
	day                           int64 // since 1970
	rail, country, status, method string
}

func (k counter) compare(o counter) int {
	return cmp.Or(strings.Compare(k.shop, o.shop), cmp.Compare(k.day, o.day), strings.Compare(k.rail, o.rail),
		strings.Compare(k.country, o.country), strings.Compare(k.status, o.status), strings.Compare(k.method, o.method), engine.Bit(k.live)-engine.Bit(o.live))
}

// count is how many payments there are, and how many of them allDays has too.
type count struct{ n, rolled int64 }

var (
	counterSpec = "shop TEXT, live BOOLEAN, day BIGINT, rail TEXT, country TEXT, status TEXT, method TEXT, n BIGINT, rolled BIGINT"
	counterKey  = "shop, live, day, rail, country, status, method"

	// upsertCounters adds to the counters of payments.
	upsertCounters = engine.Statement(`
INSERT INTO counters (` + counterKey + `, n, rolled)
SELECT ` + counterKey + `, n, rolled FROM {rows: ` + counterSpec + `} AS r
WHERE {unless lost}
ON CONFLICT (` + counterKey + `) DO UPDATE SET n = counters.n + excluded.n, rolled = counters.rolled + excluded.rolled`)
)

var counterRows = engine.ParseColumns(counterSpec)

// counterArgs are the rows in the order in which every transaction locks them.
func (s *core) counterArgs(counts map[counter]count) []any {
	rows := engine.NewRows(s.db.Dialect(), counterRows, len(counts))
	for _, k := range slices.SortedFunc(maps.Keys(counts), counter.compare) {
		rows.Text(k.shop).Flag(k.live).Number(k.day).Text(k.rail, k.country, k.status, k.method).Number(counts[k].n, counts[k].rolled).Next()
	}
	return rows.Args()
}

// addCounters counts each payment in its day; one of a day that was rolled up,
// in all days too.
func (w *write) addCounters(steps []engine.Step) []engine.Step {
	deltas := map[counter]count{}
	young := w.s.rolledUp.Load()
	add := func(k counter, n int64) {
		c := deltas[k]
		c.n += n
		if k.day < young {
			c.rolled += n
			all := k
			all.day = allDays
			deltas[all] = count{n: deltas[all].n + n}
		}
		deltas[k] = c
	}
	for _, p := range gather(w.kept, paymentsTable.of, nil) {
		if p.Status == p.Stored || p.Status == pay.Processing {
			continue // processing has no counter
		}
		key := counter{p.Shop, p.Live, micros(p.Times.Created) / dayMicros, p.Way.RailID, p.Way.Country, string(p.Status), p.Way.Method}
		add(key, 1)
		if p.Stored != "" && p.Stored != pay.Processing {
			key.status = string(p.Stored)
			add(key, -1)
		}
	}
	maps.DeleteFunc(deltas, func(_ counter, c count) bool { return c == count{} })
	if len(deltas) == 0 {
		return steps
	}
	return append(steps, engine.Step{Text: w.s.text(upsertCounters), Args: w.s.counterArgs(deltas)})
}

const (
	// slackDays is by how much a node's idea of which days are rolled up may be
	// old: so many days before the watermark are looked at as if they were young.
	slackDays = 7
	// rollPage is how many counters are read at a time to be rolled up.
	rollPage = 2000
)

var (
	selectRolledUp = engine.Statement(`SELECT day FROM watermarks WHERE id = 'counters'`)
	raiseRolledUp  = engine.Standalone(`UPDATE watermarks SET day = $1 WHERE id = 'counters' AND day < $1 RETURNING day`)
	selectUnrolled = engine.Statement(`SELECT ` + counterKey + `, n, rolled FROM counters WHERE day >= $1 AND day < $2 AND n <> rolled ORDER BY day LIMIT $3`)
	// rollCounters is an upsert of rows that are all there: found by their key,
	// whatever plan there is.
	rollCounters = engine.Standalone(`
INSERT INTO counters (` + counterKey + `, n, rolled)
SELECT ` + counterKey + `, n, rolled FROM {rows: ` + counterSpec + `} AS r
WHERE TRUE
ON CONFLICT (` + counterKey + `) DO UPDATE SET rolled = excluded.n WHERE counters.rolled = excluded.rolled
RETURNING day`)
)

// young is the first day that may have payments which allDays lacks.
func (s *core) young() int64 { return max(0, s.rolledUp.Load()-slackDays) }

// readRolledUp learns which days are rolled up.
func (s *core) readRolledUp(ctx context.Context) (day int64, err error) {
	if day, err = one(ctx, s, selectRolledUp, scanInt); err != nil {
		return 0, fmt.Errorf("read how far counters are rolled up: %w", err)
	}
	s.rolledUp.Store(day)
	return day, nil
}

// RollUp adds the days before yesterday to the counters of all days: a payment
// is counted once when it is taken, and a total adds up a few days at most. Every
// node may call it at any time, and each has to within slackDays.
func (s *core) RollUp(ctx context.Context, now time.Time) error {
	done, err := s.readRolledUp(ctx)
	until := micros(now)/dayMicros - 1
	if err != nil || until <= done {
		return err
	}
	if err := s.rollDays(ctx, s.young(), until); err != nil {
		return err
	}
	if err := s.db.Lease(ctx, s.text(raiseRolledUp), []any{until}, nil); err != nil {
		return fmt.Errorf("note how far counters are rolled up: %w", err)
	}
	_, err = s.readRolledUp(ctx)
	return err
}

// rollDays adds the days of a time to all days that are not in them yet.
func (s *core) rollDays(ctx context.Context, from, until int64) error {
	for {
		counts := map[counter]count{}
		err := s.query(ctx, selectUnrolled, []any{from, until, rollPage}, func(r engine.Row) error {
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
		if err := s.roll(ctx, counts); err != nil {
			return fmt.Errorf("roll up counters: %w", err)
		}
	}
}

// roll rolls the counters up, a transaction for each shop: all days first, as a
// commit locks them. What another node was faster with is left for the next look.
func (s *core) roll(ctx context.Context, counts map[counter]count) error {
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
			k.day = allDays
			all[k] = count{n: all[k].n + c.n - c.rolled}
		}
		err := applySlowly(ctx, s.db, []engine.Step{
			{Text: s.text(upsertCounters), Args: s.counterArgs(all)},
			{Text: s.text(rollCounters), Args: s.counterArgs(shops[shop]), Want: len(shops[shop])},
		})
		// What nobody knows to be written is found rolled up, or not, at the next look.
		if err != nil && !errors.Is(err, engine.ErrLost) && !errors.Is(err, engine.ErrUnknown) {
			return err
		}
	}
	return nil
}

// counterRules are what Check proves of the counters.
var counterRules = invariants([]rule{
	{"counters of all days have what was rolled up of each", `
SELECT coalesce(c.shop, d.shop) || ' ' || coalesce(c.rail, d.rail) || ' ' || coalesce(c.status, d.status),
  coalesce(c.n, 0) || ' in all days, ' || coalesce(d.n, 0) || ' rolled up'
FROM (SELECT * FROM counters WHERE day < 0) AS c FULL JOIN (
  SELECT shop, live, rail, method, country, status, sum(rolled) AS n FROM counters WHERE day >= 0 GROUP BY shop, live, rail, method, country, status
) AS d ON c.shop = d.shop AND c.live = d.live AND c.rail = d.rail AND c.method = d.method AND c.country = d.country AND c.status = d.status
WHERE coalesce(c.n, 0) <> coalesce(d.n, 0)`},
	{"a day that no list adds up by itself is rolled up", fmt.Sprintf(`
SELECT shop || ' ' || day || ' ' || rail || ' ' || status, rolled || ' of ' || n || ' rolled up' FROM counters
WHERE day >= 0 AND n <> rolled AND day < (SELECT day - %d FROM watermarks WHERE id = 'counters')`, slackDays)},
})
