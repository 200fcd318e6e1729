package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var reservesTable = describe(table[pay.Reserve]{
	name:    "reserves",
	of:      func(c *pay.Change) []pay.Reserve { return c.Reserves },
	id:      func(v *pay.Reserve) string { return v.ID },
	version: func(v *pay.Reserve) int64 { return v.Version },
	fields: func(f *fields, v *pay.Reserve) {
		f.text("id!", &v.ID)
		f.text("merchant!", &v.Merchant)
		f.flag("live!", &v.Live)
		f.number("version", &v.Version)
		f.time("day!", &v.Day)
		f.time("release_at!", &v.ReleaseAt)
		f.number("held", &v.Held)
		f.number("released", &v.Released)
		f.time("closed_at", &v.ClosedAt)
		f.time("due_at", &v.DueAt)
		f.time("created_at!", &v.CreatedAt)
		f.time("updated_at", &v.UpdatedAt)
	},
})

var reserveDuty = newDuty("reserve releases", "reserves", "d.due_at > 0", reservesTable.list)

// Lease takes days whose reserve is due to be released.
func (s *Reserves) Lease(ctx context.Context, now, until time.Time, limit int) ([]pay.Reserve, error) {
	return leased(ctx, s, reserveDuty, reservesTable.scan(s), now, until, limit)
}

var (
	selectReserves = engine.Statement(`SELECT ` + reservesTable.listOf("v") + ` FROM {rows: id TEXT} AS r JOIN reserves AS v ON v.id = r.id`)
	selectClosed   = engine.Statement(`SELECT v.id FROM {rows: id TEXT} AS r JOIN reserves AS v ON v.id = r.id AND {among v.id id} WHERE v.closed_at > 0`)
	listReserves   = engine.Statement(`
SELECT ` + reservesTable.list + ` FROM reserves WHERE merchant = $1 AND live = $2 AND due_at > 0 ORDER BY release_at LIMIT $3`)
)

// ByID reads the reserves of days by id; those that have no row are left
// out.
func (s *Reserves) ByID(ctx context.Context, ids []string) (map[string]pay.Reserve, error) {
	wanted := engine.NewRows(s.db.Dialect(), engine.ParseColumns("id TEXT"), len(ids))
	for _, id := range ids {
		wanted.Text(id).Next()
	}
	list, err := many(ctx, s, selectReserves, reservesTable.scan(s), wanted.Args()...)
	found := make(map[string]pay.Reserve, len(list))
	for _, v := range list {
		found[v.ID] = v
	}
	return found, err
}

// Next lists the merchant's days whose reserve is still held, the
// first to be released first.
func (s *Reserves) Next(ctx context.Context, scope tenant.Scope, limit int) ([]pay.Reserve, error) {
	return many(ctx, s, listReserves, reservesTable.scan(s), scope.Merchant, scope.Live, limit)
}

// laterKinds is the kinds that settlements claim, without captures, as SQL.
var laterKinds = func() string {
	var list []string
	for _, k := range pay.SettledKinds()[1:] {
		list = append(list, "'"+string(k)+"'")
	}
	return strings.Join(list, ", ")
}()

// What transfers that no settlement has claimed add to the reserve, by the day
// of their payment's capture.
var (
	unsettledCaptures = engine.Statement(`
SELECT t.at - t.at % 86400000000, CAST(coalesce(sum(CAST({json t.postings reserve} AS BIGINT)), 0) AS BIGINT) FROM transfers AS t
WHERE t.merchant = $1 AND t.live = $2 AND t.kind = 'capture' AND t.at >= $3 AND NOT ` + claimed + `
GROUP BY 1`)
	unsettledReserve = engine.Statement(`
SELECT c.at - c.at % 86400000000, CAST(coalesce(sum(CAST({json t.postings reserve} AS BIGINT)), 0) AS BIGINT)
FROM transfers AS t JOIN transfers AS c ON c.id = 'tr_' || substr(t.payment, 5) || '-capture'
WHERE t.merchant = $1 AND t.live = $2 AND t.kind IN (` + laterKinds + `) AND t.payment <> '' AND t.at >= $3 AND NOT ` + claimed + `
GROUP BY 1`)
	givenBack = engine.Statement(`
SELECT CAST(coalesce(sum(CAST({json t.postings reserve} AS BIGINT)), 0) AS BIGINT)
FROM transfers AS t JOIN transfers AS c ON c.id = 'tr_' || substr(t.payment, 5) || '-capture'
WHERE t.merchant = $1 AND t.live = $2 AND t.kind IN (` + laterKinds + `) AND t.payment <> '' AND t.at >= $3 AND NOT ` + claimed + `
  AND c.at >= $3 AND c.at < $4`)
)

// Unsettled tells what transfers from since on that no settlement has
// claimed add to the reserve, in USD cents by day: below zero where refunds
// gave back of what is settled. Without captures it looks at what came after
// them alone.
func (s *Reserves) Unsettled(ctx context.Context, scope tenant.Scope, since time.Time, captures bool) (map[time.Time]int64, error) {
	days := map[time.Time]int64{}
	queries := []string{unsettledReserve}
	if captures {
		queries = append(queries, unsettledCaptures)
	}
	for _, text := range queries {
		err := s.query(ctx, text, []any{scope.Merchant, scope.Live, micros(since)}, func(r engine.Row) error {
			var day, amount int64
			err := r.Scan(&day, &amount)
			days[fromMicros(day)] += amount
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("unsettled reserve: %w", err)
		}
	}
	return days, nil
}

// GivenBack is what transfers that no settlement has claimed gave back of a
// day's reserve, in USD cents.
func (s *Reserves) GivenBack(ctx context.Context, v pay.Reserve) (int64, error) {
	sum, err := one(ctx, s, givenBack, scanInt, v.Merchant, v.Live, micros(v.Day), micros(v.Day.Add(24*time.Hour)))
	return -sum, err
}

// lookAtDays reads which of the reserves that changes draw on are closed. Whoever
// closes one holds a floor of the merchant's, as whoever draws on it does: so once
// the balance is ours, what is read here is so until the commit.
func (w *write) lookAtDays(steps []engine.Step) []engine.Step {
	ids := engine.NewRows(w.s.db.Dialect(), engine.ParseColumns("id TEXT"), 0)
	for _, c := range w.batch {
		for _, id := range c.change.Days {
			ids.Text(id).Next()
		}
	}
	if ids.N == 0 {
		return steps
	}
	return append(steps, engine.Step{Text: w.s.text(selectClosed), Args: ids.Args(), Each: func(r engine.Row) error {
		var id string
		err := r.Scan(&id)
		w.shut[id] = struct{}{}
		return err
	}})
}

// closed reports whether a change draws on a reserve whose release has begun.
func (w *write) closed(c *pay.Change) bool {
	return slices.ContainsFunc(c.Days, func(id string) bool { _, shut := w.shut[id]; return shut })
}
