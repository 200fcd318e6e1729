package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var clocksTable = describe(table[tenant.Clock]{
	name:    "clocks",
	of:      func(c *pay.Change) []tenant.Clock { return c.Clocks },
	id:      func(v *tenant.Clock) string { return v.Merchant },
	version: func(v *tenant.Clock) int64 { return v.Version },
	met:     staleAnyhow,
	fields: func(f *fields, v *tenant.Clock) {
		f.text("id!", &v.Merchant)
		f.number("version", &v.Version)
		f.duration("advance", &v.Advance)
	},
})

// duty is a table of work that comes due. Its rows have id, merchant, live and
// due_at; the times of a sandbox merchant whose test clock was moved are in
// that clock (SBX-12), so they are leased by statements of their own.
type duty struct {
	name    string // as a gauge calls it
	plain   string // leases what the service's clock makes due
	clocked string // leases what a test clock makes due
	oldest  string
	// What is done about a row that cannot be read.
	setAside, keep, forget, stuck string
	next                          string // when the service's clock makes the next row due
	onClock                       string // when a test clock does, in the service's clock
}

// onClock tells the rows whose due time is in a merchant's test clock.
const onClock = `(NOT d.live AND d.merchant IN (SELECT id FROM clocks))`

// newDuty makes the statements. open selects the rows that wait, from d.
func newDuty(name, table, open, columns string) duty {
	d := duty{
		name: name,
		plain: `UPDATE ` + table + ` SET due_at = $2 WHERE id IN (
  SELECT d.id FROM ` + table + ` AS d WHERE ` + open + ` AND d.due_at <= $1 AND NOT ` + onClock + `
  ORDER BY d.due_at LIMIT $3 {skip locked d})
RETURNING ` + columns,
		clocked: `UPDATE ` + table + ` SET due_at = $2 + coalesce((SELECT c.advance FROM clocks AS c WHERE c.id = ` + table + `.merchant), 0)
WHERE id IN (
  SELECT d.id FROM clocks AS c JOIN ` + table + ` AS d ON d.merchant = c.id AND NOT d.live
  WHERE ` + open + ` AND d.due_at <= $1 + c.advance
  ORDER BY d.due_at LIMIT $3 {skip locked d})
RETURNING ` + columns,
		setAside: `UPDATE ` + table + ` SET due_at = $2 + coalesce((SELECT c.advance FROM clocks AS c WHERE c.id = ` + table + `.merchant AND NOT ` + table + `.live), 0)
WHERE id = $1 AND due_at > 0`,
		keep: `INSERT INTO quarantined (work, id, reason, since, due_at)
SELECT '` + name + `', d.id, CAST($2 AS TEXT), CAST($3 AS BIGINT), d.due_at FROM ` + table + ` AS d WHERE d.id = $1 AND d.due_at > 0
ON CONFLICT (work, id) DO UPDATE SET reason = excluded.reason, due_at = excluded.due_at`,
		forget: `DELETE FROM quarantined WHERE work = '` + name + `' AND id <> $1
  AND NOT EXISTS (SELECT 1 FROM ` + table + ` AS d WHERE d.id = quarantined.id AND d.due_at = quarantined.due_at)`,
		// Whoever reads it after all moves its time.
		stuck: `SELECT q.work, q.id, q.reason, q.since FROM quarantined AS q JOIN ` + table + ` AS d ON d.id = q.id AND d.due_at = q.due_at
WHERE q.work = '` + name + `'`,
		oldest: `SELECT '` + name + `', coalesce(min(d.due_at), 0) FROM ` + table + ` AS d WHERE ` + open + ` AND NOT ` + onClock,
		// The first of an index, not the least of a table.
		next: `SELECT '` + name + `' AS kind, d.due_at AS due FROM ` + table + ` AS d WHERE ` + open + ` AND d.due_at > 0 AND NOT ` + onClock + `
  ORDER BY d.due_at LIMIT 1`,
		onClock: `SELECT '` + name + `' AS kind, (SELECT d.due_at FROM ` + table + ` AS d
  WHERE d.merchant = c.id AND NOT d.live AND ` + open + ` AND d.due_at > 0 ORDER BY d.due_at LIMIT 1) - c.advance AS due FROM clocks AS c`,
	}
	for _, text := range []string{d.plain, d.clocked, d.setAside, d.keep, d.forget} {
		engine.Standalone(text)
	}
	return d
}

// The tables of due work. One that is not in duties has no gauge, and its
// statements are not known to the store.
var (
	pendingDuty    = newDuty("pending payments", "payments", "d.status = 'pending'", paymentsTable.list)
	processingDuty = newDuty("processing payments", "processing", "d.due_at > 0", paymentsTable.list)
	endedDuty      = newDuty("ended payments", "payments", "d.due_at > 0 AND d.status <> 'pending'", paymentsTable.list)
	deliveryDuty   = newDuty("deliveries", "deliveries", "d.status IN ('pending', 'failed') AND NOT d.parked",
		deliveriesTable.list+`, (SELECT payload FROM events WHERE events.id = deliveries.event)`)
	walletDuty       = newDuty("wallets", "wallets", "d.due_at > 0", walletsTable.list)
	withdrawalDuty   = newDuty("withdrawals", "withdrawals", "d.due_at > 0", withdrawalsTable.list)
	verificationDuty = newDuty("verifications", "verifications", "d.due_at > 0", verificationsTable.list)
	sessionDuty      = newDuty("checkouts", "sessions", "d.due_at > 0", sessionsTable.list)
	replayDuty       = newDuty("replays", "replays", "d.due_at > 0", replaysTable.list)
)

func duties() []duty {
	return []duty{
		pendingDuty, processingDuty, endedDuty, deliveryDuty, claimDuty, walletDuty, withdrawalDuty, verificationDuty,
		sessionDuty, replayDuty,
		settlementDuty, receiptDuty, reserveDuty, mailDuty, fanOutDuty,
	}
}

// lease takes at most limit rows that are due, and as many that a test clock
// makes due; nobody else gets them before until, in the row's clock. A row that each
// cannot read is set aside and holds up no other.
func (s *core) lease(ctx context.Context, d duty, now, until time.Time, limit int, each func(engine.Row) error) error {
	args := []any{micros(now), micros(until), limit}
	var bad unreadable
	err := s.db.Lease(ctx, s.text(d.plain), args, bad.skipped(each))
	if err == nil && s.clocked.Load() {
		err = s.db.Lease(ctx, s.text(d.clocked), args, bad.skipped(each))
	}
	if len(bad) == 0 {
		return err
	}
	return errors.Join(err, s.quarantine(ctx, d, now, bad))
}

var oldestDue = engine.Statement(func() string {
	var parts []string
	for _, d := range duties() {
		parts = append(parts, d.oldest)
	}
	parts = append(parts, oldestMark)
	return strings.Join(parts, "\nUNION ALL\n")
}())

// OldestDue returns the earliest due time of each kind of work; zero where
// nothing waits. What waits for a test clock is left out.
func (s *core) OldestDue(ctx context.Context) (map[string]time.Time, error) {
	due := map[string]time.Time{}
	err := s.query(ctx, oldestDue, nil, func(r engine.Row) error {
		var kind string
		var at int64
		err := r.Scan(&kind, &at)
		due[kind] = fromMicros(at)
		return err
	})
	return due, err
}

// anyParked tells that deliveries wait for their endpoint.
const anyParked = `SELECT 'parked' AS kind, 1 AS due FROM deliveries WHERE parked LIMIT 1`

var (
	nextDue = engine.Statement(firstOf(func(d duty) string { return d.next },
		anyParked, `SELECT 'seals' AS kind, min(at) AS due FROM unsealed`))
	nextClocked = engine.Statement(firstOf(func(d duty) string { return d.onClock }))
)

// firstOf makes one statement of what each duty asks, and more.
func firstOf(of func(duty) string, more ...string) string {
	parts := more
	for _, d := range duties() {
		parts = append(parts, of(d))
	}
	for i, part := range parts {
		parts[i] = fmt.Sprintf("SELECT kind, due FROM (%s) AS next%d WHERE due IS NOT NULL", part, i)
	}
	return strings.Join(parts, "\nUNION ALL\n")
}

// NextDue returns when the next row of each kind of work comes due, in the service's
// clock; kinds of which nothing waits are left out. Parked deliveries are one, due since
// ever: it is their endpoints that they wait for. It is one statement, or two where
// a test clock was moved, and reads the first row of each index.
func (s *core) NextDue(ctx context.Context) (map[string]time.Time, error) {
	due := map[string]time.Time{}
	each := func(r engine.Row) error {
		var kind string
		var micros int64
		if err := r.Scan(&kind, &micros); err != nil {
			return err
		}
		if at := fromMicros(micros); due[kind].IsZero() || at.Before(due[kind]) {
			due[kind] = at
		}
		return nil
	}
	if err := s.query(ctx, nextDue, nil, each); err != nil || !s.clocked.Load() {
		return due, err
	}
	return due, s.query(ctx, nextClocked, nil, each)
}

var (
	selectClocks = engine.Statement(`SELECT ` + clocksTable.list + ` FROM clocks`)
	selectClock  = engine.Statement(selectClocks + ` WHERE id = $1`)
)

// Get reads a merchant's test clock. ErrNotFound where it was never moved.
func (s *Clocks) Get(ctx context.Context, merchant string) (tenant.Clock, error) {
	return one(ctx, s, selectClock, clocksTable.scan(s), merchant)
}

// List reads the test clocks that were moved. Leases heed them from then on.
func (s *Clocks) List(ctx context.Context) ([]tenant.Clock, error) {
	list, err := many(ctx, s, selectClocks, clocksTable.scan(s))
	if err == nil {
		s.clocked.Store(len(list) > 0)
	}
	return list, err
}
