package settlements

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// ReservesTable is the table reserves.
var ReservesTable = table.Describe(table.Table[pay.Reserve]{
	Name:    "reserves",
	Hashed:  true,
	Lock:    300,
	Of:      func(c *pay.Change) []pay.Reserve { return c.Reserves },
	ID:      func(v *pay.Reserve) string { return v.ID },
	Version: func(v *pay.Reserve) int64 { return v.Version },
	Fields: func(f *table.Fields, v *pay.Reserve) {
		f.Text("id!", &v.ID)
		f.Text("merchant!", &v.Merchant)
		f.Flag("live!", &v.Live)
		f.Number("version", &v.Version)
		f.Time("day!", &v.Day)
		f.Time("release_at!", &v.ReleaseAt)
		f.Number("held", &v.Held)
		f.Number("released", &v.Released)
		f.Time("closed_at", &v.ClosedAt)
		f.Time("due_at", &v.DueAt)
		f.Time("created_at!", &v.CreatedAt)
		f.Time("updated_at", &v.UpdatedAt)
	},
})

// ReserveDuty is the due reserve releases.
var ReserveDuty = base.NewDuty("reserve releases", "reserves", "d.due_at > 0", ReservesTable.List)

// Lease leases days whose reserve is due for release.
func (re Reserves) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Reserve, error) {
	return base.Leased(ctx, re.b, ReserveDuty, ReservesTable.Scan(re.b.Personal), now, until, limit)
}

var (
	selectReserves = engine.Statement(`SELECT ` + ReservesTable.ListOf("v") + ` FROM {rows: id TEXT} AS r JOIN reserves AS v ON v.id = r.id`)
	lastReserve    = engine.Statement(`SELECT coalesce(max(release_at), 0) FROM reserves WHERE merchant = $1 AND live = $2 AND due_at > 0`)
	listReserves   = engine.Statement(`
SELECT ` + ReservesTable.List + ` FROM reserves WHERE merchant = $1 AND live = $2 AND due_at > 0 ORDER BY release_at LIMIT $3`)
)

// ByID reads the reserves of days by id. Days without a row are missing.
func (re Reserves) ByID(ctx context.Context, ids []string) (map[string]pay.Reserve, error) {
	wanted := engine.NewRows(re.b.DB.Dialect(), engine.ParseColumns("id TEXT"), len(ids))
	for _, id := range ids {
		wanted.Text(id).Next()
	}
	list, err := base.Many(ctx, re.b, selectReserves, ReservesTable.Scan(re.b.Personal), wanted.Args()...)
	found := make(map[string]pay.Reserve, len(list))
	for _, v := range list {
		found[v.ID] = v
	}
	return found, err
}

// Last is when the last of a merchant's reserves that are held is released; zero if none is held.
func (re Reserves) Last(ctx context.Context, scope merchants.Scope) (time.Time, error) {
	at, err := base.One(ctx, re.b, lastReserve, base.ScanInt, scope.Merchant, scope.Live)
	return table.FromMicros(at), err
}

// Next lists the merchant's days with a held reserve, next release first.
func (re Reserves) Next(ctx context.Context, scope merchants.Scope, limit int) ([]pay.Reserve, error) {
	return base.Many(ctx, re.b, listReserves, ReservesTable.Scan(re.b.Personal), scope.Merchant, scope.Live, limit)
}

// LaterKinds are the kinds that settlements collect, without captures, as SQL.
var LaterKinds = func() string {
	var list []string
	for _, k := range pay.SettledKinds()[1:] {
		list = append(list, "'"+string(k)+"'")
	}
	return strings.Join(list, ", ")
}()

// What uncollected transfers add to the reserve, by the day of their payment's capture.
var (
	unsettledCaptures = engine.Statement(`
SELECT ` + strings.ReplaceAll(ReserveDay, "c.", "t.") + `, CAST(coalesce(sum(CAST({json t.postings reserve} AS BIGINT)), 0) AS BIGINT) FROM transfers AS t
WHERE t.merchant = $1 AND t.live = $2 AND t.kind = 'capture' AND t.at >= $3 AND NOT ` + Collected + `
GROUP BY 1`)
	unsettledReserve = engine.Statement(`
SELECT ` + ReserveDay + `, CAST(coalesce(sum(CAST({json t.postings reserve} AS BIGINT)), 0) AS BIGINT)
FROM transfers AS t JOIN transfers AS c ON c.id = 'tr_' || substr(t.payment, 5) || '-capture'
WHERE t.merchant = $1 AND t.live = $2 AND t.kind IN (` + LaterKinds + `) AND t.payment <> '' AND t.at >= $3 AND NOT ` + Collected + `
GROUP BY 1`)
	givenBack = engine.Statement(`
SELECT CAST(coalesce(sum(CAST({json t.postings reserve} AS BIGINT)), 0) AS BIGINT)
FROM transfers AS t JOIN transfers AS c ON c.id = 'tr_' || substr(t.payment, 5) || '-capture'
WHERE t.merchant = $1 AND t.live = $2 AND t.kind IN (` + LaterKinds + `) AND t.payment <> '' AND t.at >= $3 AND NOT ` + Collected + `
  AND ` + ReserveDay + ` = $4`)
)

// Unsettled returns what transfers from since on, which no settlement has collected, add to the reserve:
// USD cents by day, negative where refunds gave back settled money. Without captures it looks only at what
// came after them.
func (re Reserves) Unsettled(ctx context.Context, scope merchants.Scope, since time.Time, captures bool) (map[time.Time]int64, error) {
	days := map[time.Time]int64{}
	queries := []string{unsettledReserve}
	if captures {
		queries = append(queries, unsettledCaptures)
	}
	for _, text := range queries {
		err := re.b.Query(ctx, text, []any{scope.Merchant, scope.Live, table.Micros(since)}, func(r engine.Row) error {
			var day, amount int64
			err := r.Scan(&day, &amount)
			days[table.FromMicros(day)] += amount
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("unsettled reserve: %w", err)
		}
	}
	return days, nil
}

// GivenBack returns what uncollected transfers gave back of a day's reserve, in USD cents. Its payments were captured since a time.
func (re Reserves) GivenBack(ctx context.Context, v pay.Reserve, since time.Time) (int64, error) {
	sum, err := base.One(ctx, re.b, givenBack, base.ScanInt, v.Merchant, v.Live, table.Micros(since), table.Micros(v.Day))
	return -sum, err
}

// Reserves are held and released by day.
type Reserves struct{ b *base.Base }

// Reserves returns the database's Reserves.
func (o OfSettlements) Reserves() Reserves { return Reserves(o) }
