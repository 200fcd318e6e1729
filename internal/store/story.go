package store

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	storyTransfers = `
SELECT at, kind || ' ' || id || ' ' || postings FROM transfers WHERE payment = $1 ORDER BY at, id`
	storyClaims = `
SELECT created_at, kind || ' ' || id || ' ' || status FROM claims WHERE payment = $1 ORDER BY created_at, id`
	storyEvents = `
SELECT at, type || ' ' || id FROM events
WHERE object = $1 OR object IN (SELECT id FROM claims WHERE payment = $1) ORDER BY at, object, sequence`
	storyDeliveries = `
SELECT created_at, status || ' ' || id || ' after ' || attempts || ' tries' FROM deliveries
WHERE event IN (SELECT id FROM events WHERE object = $1 OR object IN (SELECT id FROM claims WHERE payment = $1)) ORDER BY created_at, id`
	storyReceipts = `
SELECT at, verdict || ' ' || id FROM receipts WHERE payment = $1 ORDER BY at, id`
)

// Story tells a payment's whole life for people: its attempts, what it moved
// in the books, its claims, events and deliveries, and what providers told. It
// scans tables: it is for a failing test and for an incident.
func (s *Store) Story(ctx context.Context, payment string) (string, error) {
	p, err := s.AnyPayment(ctx, payment)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\ncreated %s, updated %s\n", p, clockText(p.Times.Created), clockText(p.Times.Updated))
	if !p.DueAt.IsZero() {
		fmt.Fprintf(&b, "looked at again %s\n", clockText(p.DueAt))
	}
	for _, chapter := range []struct{ name, query string }{
		{"notifications", storyReceipts}, {"transfers", storyTransfers}, {"claims", storyClaims},
		{"events", storyEvents}, {"deliveries", storyDeliveries},
	} {
		fmt.Fprintf(&b, "%s:\n", chapter.name)
		err := s.query(ctx, chapter.query, []any{payment}, func(r row) error {
			var at int64
			var line string
			err := r.Scan(&at, &line)
			fmt.Fprintf(&b, "  %s  %s\n", clockText(fromMicros(at)), line)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("story of %s: %s: %w", payment, chapter.name, err)
		}
	}
	return b.String(), nil
}

func clockText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000") }
