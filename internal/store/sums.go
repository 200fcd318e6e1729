package store

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/table"
	storewebhooks "github.com/cascadapay/cascada/internal/store/webhooks"
)

// addBalances books all transfers of the batch, one row per merchant and environment.
func (w *write) addBalances(steps []engine.Step) []engine.Step {
	deltas := map[books.Purse]ledger.Balances{}
	movements := map[books.Purse]int64{}
	for _, t := range books.TransfersTable.In(w.Kept, nil) {
		key := books.Purse{Merchant: t.Merchant, Live: t.Live}
		movements[key] += pay.MovementCount(*t)
		if deltas[key] == nil {
			deltas[key] = make(ledger.Balances, len(t.Postings))
		}
		for _, p := range t.Postings {
			deltas[key][p.Account] += p.Amount
		}
	}
	if len(deltas) == 0 {
		return steps
	}
	rows := engine.NewRows(w.Dialect, balanceRows, len(deltas))
	for _, key := range slices.SortedFunc(maps.Keys(deltas), books.Purse.Compare) {
		rows.Text(key.Merchant).Flag(key.Live)
		for _, account := range ledger.Accounts() {
			rows.Number(deltas[key][account])
		}
		rows.Number(movements[key]).Next()
	}
	return append(steps, engine.Step{Text: w.s.b.Text(upsertBalances), Args: rows.Args()})
}

// addCounters counts each payment in its day; if that day is rolled up, in all days too.
func (w *write) addCounters(steps []engine.Step) []engine.Step {
	deltas := map[counter]count{}
	young := w.s.b.RolledUp.Load()
	add := func(k counter, n int64) {
		c := deltas[k]
		c.n += n
		if k.day < young {
			c.rolled += n
			all := k
			all.day = base.AllDays
			deltas[all] = count{n: deltas[all].n + n}
		}
		deltas[k] = c
	}
	for _, p := range payments.Table.In(w.Kept, nil) {
		if p.Status == p.Stored {
			continue
		}
		key := counter{
			shop:    p.Shop,
			live:    p.Live,
			day:     table.Micros(p.Times.Created) / base.DayMicros,
			rail:    p.Way.RailID,
			country: p.Way.Country,
			status:  string(p.Status),
			method:  p.Way.Method,
		}
		if p.Status != pay.Processing { // which has no counter
			add(key, 1)
		}
		if p.Stored != "" && p.Stored != pay.Processing {
			key.status = string(p.Stored)
			add(key, -1)
		}
	}
	maps.DeleteFunc(deltas, func(_ counter, c count) bool { return c == count{} })
	if len(deltas) == 0 {
		return steps
	}
	return append(steps, engine.Step{Text: w.s.b.Text(upsertCounters), Args: w.s.counterArgs(deltas)})
}

// addDeliveryCounters counts deliveries by result. Pending ones have no counter.
func (w *write) addDeliveryCounters(steps []engine.Step) []engine.Step {
	type tally struct{ n, last int64 }
	deltas := map[deliveryKind]*tally{}
	add := func(d *webhooks.Delivery, status webhooks.DeliveryStatus, n int64) {
		if status == webhooks.DeliveryPending {
			return
		}
		key := deliveryKind{d.Subscription, string(status), string(d.EventType)}
		if deltas[key] == nil {
			deltas[key] = &tally{}
		}
		deltas[key].n += n
		deltas[key].last = max(deltas[key].last, table.Micros(d.LastAt))
	}
	for _, d := range storewebhooks.DeliveriesTable.In(w.Kept, nil) {
		add(d, d.Stored, -1)
		add(d, d.Status, 1)
	}
	if len(deltas) == 0 {
		return steps
	}
	rows := engine.NewRows(w.Dialect, deliveryCounterRows, len(deltas))
	for _, k := range slices.SortedFunc(maps.Keys(deltas), deliveryKind.compare) {
		rows.Text(k.subscription, k.status, k.kind).Number(deltas[k].n, deltas[k].last).Next()
	}
	return append(steps, engine.Step{Text: w.s.b.Text(upsertDeliveryCounters), Args: rows.Args()})
}

// addFacts keeps what the batch has to count for analytics, in one row that nothing else changes.
func (w *write) addFacts(steps []engine.Step) []engine.Step {
	facts := payments.Facts(payments.Table.In(w.Kept, nil), payments.SessionsTable.In(w.Kept, nil))
	if facts == nil {
		return steps
	}
	return append(steps, engine.Step{Text: w.s.b.Text(payments.InsertFacts), Args: facts})
}

// counter is a list's filter values, and a day.
type counter struct {
	shop                          string
	live                          bool
	day                           int64 // days since 1970
	rail, country, status, method string
}

func (cn counter) compare(o counter) int {
	return cmp.Or(strings.Compare(cn.shop, o.shop), cmp.Compare(cn.day, o.day), strings.Compare(cn.rail, o.rail),
		strings.Compare(cn.country, o.country), strings.Compare(cn.status, o.status), strings.Compare(cn.method, o.method), engine.Bit(cn.live)-engine.Bit(o.live))
}

// count is a number of payments, and how many of them are also in base.AllDays.
type count struct{ n, rolled int64 }

var (
	counterSpec = "shop TEXT, live BOOLEAN, day BIGINT, rail TEXT, country TEXT, status TEXT, method TEXT, n BIGINT, rolled BIGINT"

	// upsertCounters adds to the counters of payments.
	upsertCounters = engine.Statement(`
INSERT INTO counters (` + payments.CounterKey + `, n, rolled)
SELECT ` + payments.CounterKey + `, n, rolled FROM {rows: ` + counterSpec + `} AS r
WHERE {unless lost}
ON CONFLICT (` + payments.CounterKey + `) DO UPDATE SET n = counters.n + excluded.n, rolled = counters.rolled + excluded.rolled`)
)

var counterRows = engine.ParseColumns(counterSpec)

// counterArgs are the rows in every transaction's lock order.
func (co *core) counterArgs(counts map[counter]count) []any {
	rows := engine.NewRows(co.b.DB.Dialect(), counterRows, len(counts))
	for _, k := range slices.SortedFunc(maps.Keys(counts), counter.compare) {
		rows.Text(k.shop).Flag(k.live).Number(k.day).Text(k.rail, k.country, k.status, k.method).Number(counts[k].n, counts[k].rolled).Next()
	}
	return rows.Args()
}

// upsertBalances adds deltas to the balances.
var upsertBalances = engine.Statement(func() string {
	var names, sets []string
	for _, c := range balanceRows {
		names = append(names, c.Name)
		if c.Kind == "BIGINT" {
			sets = append(sets, c.Name+" = balances."+c.Name+" + excluded."+c.Name)
		}
	}
	columns := strings.Join(names, ", ")
	return "INSERT INTO balances (" + columns + ") SELECT " + columns + " FROM {rows: " + books.BalanceSpec + "} AS r WHERE {unless lost}" +
		" ON CONFLICT (merchant, live) DO UPDATE SET " + strings.Join(sets, ", ")
}())

var balanceRows = engine.ParseColumns(books.BalanceSpec)

// deliveryKind is the filter values of a list of deliveries.
type deliveryKind struct{ subscription, status, kind string }

func (k deliveryKind) compare(o deliveryKind) int {
	return cmp.Or(strings.Compare(k.subscription, o.subscription), strings.Compare(k.status, o.status), strings.Compare(k.kind, o.kind))
}

const (
	deliveryCounterSpec = "subscription TEXT, status TEXT, type TEXT, n BIGINT, last_at BIGINT"

	// addToDeliveryCounters is what an insert does with a counter that exists.
	addToDeliveryCounters = `ON CONFLICT (` + storewebhooks.DeliveryCounterKey + `) DO UPDATE SET n = delivery_counters.n + excluded.n,
  last_at = CASE WHEN excluded.last_at > delivery_counters.last_at THEN excluded.last_at ELSE delivery_counters.last_at END`
)

var deliveryCounterRows = engine.ParseColumns(deliveryCounterSpec)

// upsertDeliveryCounters adds to the counters of deliveries.
var upsertDeliveryCounters = engine.Statement(`
INSERT INTO delivery_counters (` + storewebhooks.DeliveryCounterKey + `, n, last_at)
SELECT ` + storewebhooks.DeliveryCounterKey + `, n, last_at
FROM {rows: ` + deliveryCounterSpec + `} AS r
WHERE {unless lost}
` + addToDeliveryCounters)
