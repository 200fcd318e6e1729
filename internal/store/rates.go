package store

import (
	"context"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var ratesTable = describe(table[pay.Quote]{
	name:    "rates",
	of:      func(c *pay.Change) []pay.Quote { return c.Quotes },
	id:      func(q *pay.Quote) string { return string(q.Currency) },
	version: func(q *pay.Quote) int64 { return q.Version },
	met:     stale,
	fields: func(f *fields, q *pay.Quote) {
		word(f, "id!", &q.Currency)
		f.number("version", &q.Version)
		f.rateIfAny("rate", &q.Rate)
		f.text("source", &q.Source)
		f.time("observed_at", &q.At)
		f.rateIfAny("held_rate", &q.Held.Rate)
		f.text("held_source", &q.Held.Source)
		f.time("held_at", &q.Held.At)
		f.time("updated_at", &q.UpdatedAt)
	},
})

// rateHistoryTable keeps each reading with what was done with it.
var rateHistoryTable = describe(table[pay.Quote]{
	name: "rate_history",
	of:   func(c *pay.Change) []pay.Quote { return c.Quotes },
	id:   readingID,
	fields: func(f *fields, q *pay.Quote) {
		f.written("id!", readingID(q))
		word(f, "currency!", &q.Last.Currency)
		f.number("version!", &q.Version)
		f.rateIfAny("rate!", &q.Last.Rate)
		f.text("source!", &q.Last.Source)
		f.time("observed_at!", &q.Last.At)
		word(f, "verdict!", &q.Verdict)
		f.text("actor!", &q.By)
		f.time("at!", &q.UpdatedAt)
	},
})

func readingID(q *pay.Quote) string { return fmt.Sprintf("%s-%d", q.Last.Currency, q.Version) }

// rateText is a rate as it is stored, "" for none.
func rateText(r money.Rate) string {
	if r.IsZero() {
		return ""
	}
	return r.Decimal()
}

func parseRate(text string) (money.Rate, error) {
	if text == "" {
		return money.Rate{}, nil
	}
	return money.ParseRate(text)
}

var selectRates = engine.Statement(`
SELECT ` + ratesTable.list + ` FROM rates ORDER BY id`)

// List reads what is known of each currency's rate.
func (s *Rates) List(ctx context.Context) ([]pay.Quote, error) {
	scan := ratesTable.scan(s)
	return many(ctx, s, selectRates, func(r engine.Row) (pay.Quote, error) {
		q, err := scan(r)
		q.Held.Currency = q.Currency
		return q, err
	})
}

var selectRateHistory = engine.Statement(`
SELECT ` + rateHistoryTable.list + ` FROM rate_history WHERE currency = $1 ORDER BY version DESC LIMIT $2`)

// PastReading is a reading with what was done with it, and when.
type PastReading struct {
	pay.Reading
	Verdict pay.RateVerdict
	By      string // the operator, "" for the service itself
	Taken   time.Time
}

// History lists what was read of a currency, newest first.
func (s *Rates) History(ctx context.Context, c money.Currency, limit int) ([]PastReading, error) {
	scan := rateHistoryTable.scan(s)
	return many(ctx, s, selectRateHistory, func(r engine.Row) (PastReading, error) {
		q, err := scan(r)
		return PastReading{Reading: q.Last, Verdict: q.Verdict, By: q.By, Taken: q.UpdatedAt}, err
	}, string(c), limit)
}

var selectRailsUsed = engine.Statement(`
SELECT DISTINCT c.rail, c.country FROM shops AS s JOIN counters AS c ON c.shop = s.id AND c.live = $2 AND (c.day = -1 OR c.day >= $3)
WHERE s.merchant = $1`)

// RailUse is a rail that a merchant has taken payments by, and in which country.
type RailUse struct{ Rail, Country string }

// RailsUsed lists what a merchant has taken payments by, from the counters: it
// scans no payments.
func (s *Rates) RailsUsed(ctx context.Context, scope tenant.Scope) ([]RailUse, error) {
	return many(ctx, s, selectRailsUsed, func(r engine.Row) (u RailUse, err error) {
		err = r.Scan(&u.Rail, &u.Country)
		return u, err
	}, scope.Merchant, scope.Live, s.young())
}

var (
	leaseFeed = engine.Standalone(`
INSERT INTO rate_feeds (id, due_at) VALUES ($1, $3)
ON CONFLICT (id) DO UPDATE SET due_at = excluded.due_at WHERE rate_feeds.due_at <= $2
RETURNING id`)
	settleFeed = engine.Standalone(`UPDATE rate_feeds SET due_at = $2 WHERE id = $1`)
)

// LeaseFeed reports whether the feed of rates is due and this node's to read,
// until the time. A feed that nobody read before is due.
func (s *Rates) LeaseFeed(ctx context.Context, feed string, now, until time.Time) (leased bool, err error) {
	err = s.db.Lease(ctx, s.text(leaseFeed), []any{feed, micros(now), micros(until)}, func(engine.Row) error {
		leased = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("lease the feed of rates: %w", err)
	}
	return leased, nil
}

// SettleFeed says when the feed is due again.
func (s *Rates) SettleFeed(ctx context.Context, feed string, due time.Time) error {
	if err := s.db.Lease(ctx, s.text(settleFeed), []any{feed, micros(due)}, nil); err != nil {
		return fmt.Errorf("settle the feed of rates: %w", err)
	}
	return nil
}

// rateRules are the invariants of the rates (check.go).
var rateRules = invariants([]rule{
	{"a rate has a history of all its versions", `
SELECT r.id, 'version ' || r.version || ', history of ' || count(h.id) FROM rates AS r LEFT JOIN rate_history AS h ON h.currency = r.id
GROUP BY r.id, r.version HAVING r.version <> count(h.id) OR r.version <> coalesce(max(h.version), 0)`},
	{"a rate in use is the one that was applied last", `
SELECT r.id, r.rate || ' of ' || r.source FROM rates AS r
LEFT JOIN rate_history AS h ON h.id = r.id || '-' || (
  SELECT max(l.version) FROM rate_history AS l WHERE l.currency = r.id AND l.verdict = 'applied')
WHERE r.rate <> coalesce(h.rate, '') OR r.source <> coalesce(h.source, '') OR r.observed_at <> coalesce(h.observed_at, 0)`},
})
