package rates

import (
	"context"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Table is the table rates.
var Table = table.Describe(table.Table[rates.KnownRate]{
	Name:    "rates",
	Hashed:  true,
	Lock:    160,
	Of:      func(c *pay.Change) []rates.KnownRate { return c.Rates },
	ID:      func(q *rates.KnownRate) string { return string(q.Currency) },
	Version: func(q *rates.KnownRate) int64 { return q.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, q *rates.KnownRate) {
		table.Word(f, "id!", &q.Currency)
		f.Number("version", &q.Version)
		f.RateIfAny("rate", &q.Rate)
		f.Text("source", &q.Source)
		f.Time("observed_at", &q.At)
		f.RateIfAny("held_rate", &q.Held.Rate)
		f.Text("held_source", &q.Held.Source)
		f.Time("held_at", &q.Held.At)
		f.Time("updated_at", &q.UpdatedAt)
	},
})

// HistoryTable is the table rate_history. It keeps each reading with what was done with it.
var HistoryTable = table.Describe(table.Table[rates.KnownRate]{
	Name:   "rate_history",
	Hashed: true,
	Lock:   420,
	Of:     func(c *pay.Change) []rates.KnownRate { return c.Rates },
	ID:     readingID,
	Fields: func(f *table.Fields, q *rates.KnownRate) {
		f.Written("id!", readingID(q))
		table.Word(f, "currency!", &q.Last.Currency)
		f.Number("version!", &q.Version)
		f.RateIfAny("rate!", &q.Last.Rate)
		f.Text("source!", &q.Last.Source)
		f.Time("observed_at!", &q.Last.At)
		table.Word(f, "verdict!", &q.Verdict)
		f.Text("actor!", &q.By)
		f.Time("at!", &q.UpdatedAt)
	},
})

func readingID(q *rates.KnownRate) string { return fmt.Sprintf("%s-%d", q.Last.Currency, q.Version) }

var selectRates = engine.Statement(`
SELECT ` + Table.List + ` FROM rates ORDER BY id`)

// List reads the known rate of each currency.
func (ra Rates) List(ctx context.Context) ([]rates.KnownRate, error) {
	scan := Table.Scan(ra.b.Personal)
	return base.Many(ctx, ra.b, selectRates, func(r engine.Row) (rates.KnownRate, error) {
		q, err := scan(r)
		q.Held.Currency = q.Currency
		return q, err
	})
}

var selectRateHistory = engine.Statement(`
SELECT ` + HistoryTable.List + ` FROM rate_history WHERE currency = $1 ORDER BY version DESC LIMIT $2`)

// PastReading is a reading with what was done with it, and when.
type PastReading struct {
	rates.Reading
	Verdict   rates.Verdict
	By        string // the operator, "" for the service itself
	DecidedAt time.Time
}

// History lists a currency's readings, newest first.
func (ra Rates) History(ctx context.Context, c money.Currency, limit int) ([]PastReading, error) {
	scan := HistoryTable.Scan(ra.b.Personal)
	return base.Many(ctx, ra.b, selectRateHistory, func(r engine.Row) (PastReading, error) {
		q, err := scan(r)
		return PastReading{Reading: q.Last, Verdict: q.Verdict, By: q.By, DecidedAt: q.UpdatedAt}, err
	}, string(c), limit)
}

var selectRailsUsed = engine.Statement(`
SELECT DISTINCT c.rail, c.country FROM shops AS s JOIN counters AS c ON c.shop = s.id AND c.live = $2 AND (c.day = -1 OR c.day >= $3)
WHERE s.merchant = $1`)

// RailUse is a rail on which a merchant has accepted payments, with its country.
type RailUse struct{ Rail, Country string }

// RailsUsed lists the rails on which a merchant has accepted payments, from the counters: it scans no
// payments.
func (ra Rates) RailsUsed(ctx context.Context, scope merchants.Scope) ([]RailUse, error) {
	return base.Many(ctx, ra.b, selectRailsUsed, func(r engine.Row) (u RailUse, err error) {
		err = r.Scan(&u.Rail, &u.Country)
		return u, err
	}, scope.Merchant, scope.Live, ra.b.Young())
}

var (
	leaseFeed = engine.Standalone(`
INSERT INTO rate_feeds (id, due_at) VALUES ($1, $3)
ON CONFLICT (id) DO UPDATE SET due_at = excluded.due_at WHERE rate_feeds.due_at <= $2
RETURNING id`)
	settleFeed = engine.Standalone(`UPDATE rate_feeds SET due_at = $2 WHERE id = $1`)
)

// LeaseFeed reports whether the rate feed is due and leased to this node until a time. A feed that was
// never read is due.
func (ra Rates) LeaseFeed(ctx context.Context, feed string, now, until time.Time) (leased bool, err error) {
	err = ra.b.DB.Lease(ctx, ra.b.Text(leaseFeed), []any{feed, table.Micros(now), table.Micros(until)}, func(engine.Row) error {
		leased = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("lease the feed of rates: %w", err)
	}
	return leased, nil
}

// SettleFeed sets when the feed is due again.
func (ra Rates) SettleFeed(ctx context.Context, feed string, due time.Time) error {
	if err := ra.b.DB.Lease(ctx, ra.b.Text(settleFeed), []any{feed, table.Micros(due)}, nil); err != nil {
		return fmt.Errorf("settle the feed of rates: %w", err)
	}
	return nil
}

// Rates are exchange rates, their feeds, and the ids of rails.
type Rates struct{ b *base.Base }

// Rates returns the database's Rates.
func (o OfRates) Rates() Rates { return Rates(o) }
