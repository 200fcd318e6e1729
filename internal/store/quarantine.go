package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/store/engine"
)

// quarantinePause is how long a row that cannot be read is left alone before it is
// looked at again: whoever mends it, or brings a program that can read it, has to do
// nothing more.
const quarantinePause = time.Hour

// maxReason bounds what is kept of why a row cannot be read.
const maxReason = 300

// unread is a row that could not be read, and why.
type unread struct {
	id     string
	reason error
}

// unreadable are rows of one lease.
type unreadable []unread

// skipped goes on after a row that each cannot read. Every lease returns the row's id
// first; a row that does not even tell that ends it.
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

// namedRow remembers the id of a row that is scanned.
type namedRow struct {
	engine.Row
	id string
}

// Scan is for row.
func (n *namedRow) Scan(into ...any) error {
	err := n.Row.Scan(into...)
	if id, ok := into[0].(*string); ok {
		n.id = *id // also where a later column failed
	}
	return err
}

// quarantine sets rows aside that cannot be read, and keeps that for the gauge and for
// Check. The log has a line a lease.
func (b *base) quarantine(ctx context.Context, d duty, now time.Time, bad unreadable) error {
	b.log.Error("rows of due work cannot be read and are set aside; cascada check names them", "work", d.name, "rows", len(bad),
		"first", bad[0].id, "error", bad[0].reason, "again in", quarantinePause)
	for _, u := range bad {
		reason := strings.ToValidUTF8(u.reason.Error(), "?")
		err := b.db.Apply(ctx, nil, []engine.Step{
			{Text: b.text(d.forget), Args: []any{u.id}},
			{Text: b.text(d.setAside), Args: []any{u.id, micros(now.Add(quarantinePause))}},
			{Text: b.text(d.keep), Args: []any{u.id, reason[:min(len(reason), maxReason)], micros(now)}},
		})
		if err != nil {
			return fmt.Errorf("set %s of %s aside: %w", u.id, d.name, err)
		}
	}
	return nil
}

var selectQuarantined = engine.Statement(func() string {
	var parts []string
	for _, d := range duties() {
		parts = append(parts, d.stuck)
	}
	return strings.Join(parts, "\nUNION ALL\n")
}())

// Quarantined is a row of due work that cannot be read.
type Quarantined struct {
	Work   string // as OldestDue calls it
	ID     string
	Reason string
	Since  time.Time
}

// Quarantine reads the rows of due work that were set aside because they cannot be
// read, of all tenants.
func (s *core) Quarantine(ctx context.Context) ([]Quarantined, error) {
	return many(ctx, s.base, selectQuarantined, func(r engine.Row) (q Quarantined, err error) {
		var since int64
		err = r.Scan(&q.Work, &q.ID, &q.Reason, &since)
		q.Since = fromMicros(since)
		return q, err
	})
}

// quarantineRules name the rows that cannot be read. They come first: another rule may
// fail on such a row.
var quarantineRules = invariants([]rule{
	{"a row of due work can be read", `SELECT u.work || ' ' || u.id, u.reason FROM (` + selectQuarantined + `) AS u`},
})
