package store

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
)

// allDays is the day of the counters that count a shop's whole life.
const allDays = -1

// dayMicros is a day of times in the database.
const dayMicros = 24 * 60 * 60 * 1_000_000

// upsertCounters adds to the counters of payments.
const upsertCounters = `
INSERT INTO counters (shop, live, day, rail, country, status, method, n)
SELECT shop, live, day, rail, country, status, method, n
FROM {rows: shop TEXT, live BOOLEAN, day BIGINT, rail TEXT, country TEXT, status TEXT, method TEXT, n BIGINT} AS r
WHERE TRUE
ON CONFLICT (shop, live, day, rail, country, status, method) DO UPDATE SET n = counters.n + excluded.n`

var counterRows = parseColumns("shop TEXT, live BOOLEAN, day BIGINT, rail TEXT, country TEXT, status TEXT, method TEXT, n BIGINT")

// counter is what a list may be filtered by. Each payment is counted twice: in
// its day, and in allDays.
type counter struct {
	shop                          string
	live                          bool
	day                           int64 // since 1970
	rail, country, status, method string
}

func (w *write) addCounters(steps []step) []step {
	deltas := map[counter]int64{}
	for _, p := range gather(w.kept, payments, nil) {
		if p.Status == p.Stored || p.Status == pay.Processing {
			continue // processing has no counter
		}
		for _, day := range []int64{allDays, micros(p.Times.Created) / dayMicros} {
			key := counter{p.Shop, p.Live, day, p.RailID, p.Country, string(p.Status), p.Method}
			deltas[key]++
			if p.Stored != "" && p.Stored != pay.Processing {
				key.status = string(p.Stored)
				deltas[key]--
			}
		}
	}
	maps.DeleteFunc(deltas, func(_ counter, n int64) bool { return n == 0 })
	if len(deltas) == 0 {
		return steps
	}
	rows := newRows(w.s.db.dialect(), counterRows, len(deltas))
	for _, k := range slices.SortedFunc(maps.Keys(deltas), counter.compare) {
		rows.text(k.shop).flag(k.live).number(k.day).text(k.rail, k.country, k.status, k.method).number(deltas[k]).next()
	}
	return append(steps, step{text: w.s.text(upsertCounters), args: rows.args()})
}

func (k counter) compare(o counter) int {
	return cmp.Or(strings.Compare(k.shop, o.shop), cmp.Compare(k.day, o.day), strings.Compare(k.rail, o.rail),
		strings.Compare(k.country, o.country), strings.Compare(k.status, o.status), strings.Compare(k.method, o.method), btoi(k.live)-btoi(o.live))
}
