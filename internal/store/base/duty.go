package base

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// Duty is a table of due work. Its rows have id, merchant, live and due_at. The times of a sandbox merchant
// with a moved test clock are in that clock (SBX-12), so separate statements lease those rows.
type Duty struct {
	Name    string // the gauge's name for it
	plain   string // leases rows that are due by the service's clock
	clocked string // leases rows that are due by a test clock
	Oldest  string
	// How to handle a row that cannot be read.
	setAside, keep, forget, Stuck string
	Next                          string // when the next row is due by the service's clock
	OnClock                       string // when one is due by a test clock, in the service's clock
}

// NewDuty makes the statements. open is the condition for waiting rows of d.
func NewDuty(name, table, open, columns string) Duty {
	d := Duty{
		Name: name,
		plain: `UPDATE ` + table + ` SET due_at = $2 WHERE id IN (
  SELECT d.id FROM ` + table + ` AS d WHERE ` + open + ` AND d.due_at <= $1 AND NOT ` + OnClock + `
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
		// Whoever can read the row moves its time.
		Stuck: `SELECT q.work, q.id, q.reason, q.since FROM quarantined AS q JOIN ` + table + ` AS d ON d.id = q.id AND d.due_at = q.due_at
WHERE q.work = '` + name + `'`,
		Oldest: `SELECT '` + name + `', coalesce(min(d.due_at), 0) FROM ` + table + ` AS d WHERE ` + open + ` AND NOT ` + OnClock,
		// Reads the first entry of an index, not the minimum of a table.
		Next: `SELECT '` + name + `' AS kind, d.due_at AS due FROM ` + table + ` AS d WHERE ` + open + ` AND d.due_at > 0 AND NOT ` + OnClock + `
  ORDER BY d.due_at LIMIT 1`,
		OnClock: `SELECT '` + name + `' AS kind, (SELECT d.due_at FROM ` + table + ` AS d
  WHERE d.merchant = c.id AND NOT d.live AND ` + open + ` AND d.due_at > 0 ORDER BY d.due_at LIMIT 1) - c.advance AS due FROM clocks AS c`,
	}
	for _, text := range []string{d.plain, d.clocked, d.setAside, d.keep, d.forget} {
		engine.Standalone(text)
	}
	return d
}

// OnClock is true of rows whose due time is in a merchant's test clock.
const OnClock = `(NOT d.live AND d.merchant IN (SELECT id FROM clocks))`

// Lease leases at most limit due rows, and as many that are due by a test clock. Nobody else gets them
// before until, in the row's clock. A row that each cannot read is quarantined and does not block the
// others. Rows of a test clock are due by the clock in the database: the caller's memory of it is renewed before it works on
// them, or they would not be due for it, and wait until the lease ends.
func (b *Base) Lease(ctx context.Context, d Duty, now, until time.Time, limit int, each func(engine.Row) error) error {
	args := []any{table.Micros(now), table.Micros(until), limit}
	var bad unreadable
	err := b.DB.Lease(ctx, b.Text(d.plain), args, bad.skipped(each))
	if err == nil && b.Clocked.Load() {
		due := false
		err = b.DB.Lease(ctx, b.Text(d.clocked), args, bad.skipped(func(r engine.Row) error {
			due = true
			return each(r)
		}))
		if err == nil && due && b.Reclock != nil {
			err = b.Reclock(ctx)
		}
	}
	if len(bad) == 0 {
		return err
	}
	return errors.Join(err, b.quarantine(ctx, d, now, bad))
}

// Leased leases due rows of a duty.
func Leased[T any](ctx context.Context, b *Base, d Duty, scan func(engine.Row) (T, error), now, until time.Time, limit int) ([]T, error) {
	var list []T
	err := b.Lease(ctx, d, now, until, limit, func(r engine.Row) error {
		item, err := scan(r)
		if err == nil {
			list = append(list, item)
		}
		return err
	})
	return list, err
}

// SetAside quarantines a row of due work that must not be worked on, and says why. It changes nothing else of the row, so that
// what is wrong with it stays to be seen.
func (b *Base) SetAside(ctx context.Context, d Duty, id, why string, now time.Time) error {
	return b.quarantine(ctx, d, now, unreadable{{id, errors.New(why)}})
}

// quarantine sets aside rows that cannot be read, and records them for the gauge and for Check. It logs one
// line per lease.
func (b *Base) quarantine(ctx context.Context, d Duty, now time.Time, bad unreadable) error {
	b.Log.Error("rows of due work cannot be read and are set aside; cascada check names them", "work", d.Name, "rows", len(bad),
		"first", bad[0].id, "error", bad[0].reason, "again in", quarantinePause)
	for _, u := range bad {
		reason := strings.ToValidUTF8(u.reason.Error(), "?")
		err := b.DB.Apply(ctx, nil, []engine.Step{
			{Text: b.Text(d.forget), Args: []any{u.id}},
			{Text: b.Text(d.setAside), Args: []any{u.id, table.Micros(now.Add(quarantinePause))}},
			{Text: b.Text(d.keep), Args: []any{u.id, reason[:min(len(reason), maxReason)], table.Micros(now)}},
		})
		if err != nil {
			return fmt.Errorf("set %s of %s aside: %w", u.id, d.Name, err)
		}
	}
	return nil
}

// quarantinePause is how long an unreadable row rests before the next try. After a fix of the row or a
// newer program, nothing else needs to be done.
const quarantinePause = time.Hour

// maxReason bounds the stored reason why a row cannot be read.
const maxReason = 300

// unread is a row that cannot be read, and why.
type unread struct {
	id     string
	reason error
}

// unreadable are the unreadable rows of one lease.
type unreadable []unread

// skipped continues after a row that each cannot read. Every lease returns the row's id first; if even the
// id cannot be read, the lease ends.
func (u *unreadable) skipped(each func(engine.Row) error) func(engine.Row) error {
	return func(r engine.Row) error {
		named := &namedRow{Row: r}
		err := each(named)
		if err == nil || named.id == "" {
			return err
		}
		*u = append(*u, unread{named.id, err})
		return nil
	}
}

// namedRow remembers the id of the scanned row.
type namedRow struct {
	engine.Row
	id string
}

// Scan implements Row.
func (n *namedRow) Scan(into ...any) error {
	err := n.Row.Scan(into...)
	if id, ok := into[0].(*string); ok {
		n.id = *id // also if a later column failed
	}
	return err
}
