package store

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
)

const (
	storyReceipts = `
SELECT at, verdict, id FROM receipts WHERE payment = $1 ORDER BY at, id`
	storyTransfers = `
SELECT at, kind, id, postings FROM transfers WHERE payment = $1 ORDER BY at, id`
	storyClaims = `
SELECT created_at, kind, id, status, amount_local, currency_local FROM claims WHERE payment = $1 ORDER BY created_at, id`
	storyEvents = `
SELECT at, type, id, object, sequence FROM events
WHERE object = $1 OR object IN (SELECT id FROM claims WHERE payment = $1) ORDER BY at, object, sequence`
	storyDeliveries = `
SELECT ` + deliveryColumns + ` FROM deliveries
WHERE event IN (SELECT id FROM events WHERE object = $1 OR object IN (SELECT id FROM claims WHERE payment = $1)) ORDER BY created_at, id`
)

// Story tells a payment's whole life for people: its attempts, what providers
// told, what it moved in the books, its claims, its events and what became of
// their deliveries. The same rows give the same text on both engines. It names
// no shopper, document or body, so that it may be pasted anywhere.
//
// It scans tables: it is for a failing test and for an incident.
func (s *Store) Story(ctx context.Context, payment string) (string, error) {
	p, err := s.AnyPayment(ctx, payment)
	if err != nil {
		return "", fmt.Errorf("story of %s: %w", payment, err)
	}
	var b strings.Builder
	tellPayment(&b, p)
	for _, chapter := range []struct {
		name, query string
		line        func(row) (string, error)
	}{
		{"notifications", storyReceipts, receiptLine},
		{"transfers", storyTransfers, transferLine},
		{"claims", storyClaims, claimLine},
		{"events", storyEvents, eventLine},
		{"deliveries", storyDeliveries, deliveryLine},
	} {
		lines, err := many(ctx, s, chapter.query, chapter.line, payment)
		if err != nil {
			return "", fmt.Errorf("story of %s: %s: %w", payment, chapter.name, err)
		}
		tell(&b, chapter.name, lines)
	}
	return b.String(), nil
}

// tellPayment writes what the payment's own row knows.
func tellPayment(b *strings.Builder, p pay.Payment) {
	fmt.Fprintf(b, "%s %s, version %d\n", p.ID, p.Status, p.Version)
	fact := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "  %-9s %s\n", name, value)
		}
	}
	fact("amount", fmt.Sprintf("%s, %s at %s", p.Amount, p.Local, p.Rate.Decimal()))
	if p.RateSource != "" {
		fact("rate", strings.TrimSpace("of "+p.RateSource+" "+moment(p.RateAt)))
	}
	if p.Refunded != 0 {
		fact("refunded", money.New(p.Refunded, p.Local.Currency).String())
	}
	fact("rail", strings.Join([]string{p.RailID, p.Method, p.Country}, " "))
	fact("order", p.OrderID)
	fact("shop", fmt.Sprintf("%s of %s, %s", p.Shop, p.Merchant, p.Environment()))
	fact("replied", string(p.Answered))
	fact("simulate", string(p.Simulate))
	fact("created", moment(p.Times.Created))
	fact("updated", moment(p.Times.Updated))
	fact("expires", moment(p.Times.Expires))
	fact("due", moment(p.DueAt))
	if f := p.Failure; f != nil {
		fact("failed", strings.TrimSpace(f.Code+" "+f.Decline)+": "+f.Message)
	}
	var attempts []string
	for _, a := range p.Attempts {
		words := slices.DeleteFunc([]string{string(a.Status), string(a.Code), a.Decline}, func(w string) bool { return w == "" })
		line := entry(a.Started, "%d at %s: %s, reference %s", a.Order, a.Provider, strings.Join(words, " "), p.Reference(a.Order))
		if a.Ended != 0 {
			line += ", ended " + moment(fromMicros(a.Ended))
		}
		if a.Stop != "" {
			line += "; no other was tried: " + a.Stop
		}
		attempts = append(attempts, line)
	}
	tell(b, "attempts", attempts)
}

// tell writes a chapter; one without lines says so.
func tell(b *strings.Builder, chapter string, lines []string) {
	if len(lines) == 0 {
		fmt.Fprintf(b, "%s: none\n", chapter)
		return
	}
	fmt.Fprintf(b, "%s:\n  %s\n", chapter, strings.Join(lines, "\n  "))
}

func receiptLine(r row) (string, error) {
	var at int64
	var verdict, id string
	err := r.Scan(&at, &verdict, &id)
	return entry(at, "%s %s", verdict, id), err
}

func transferLine(r row) (string, error) {
	var at int64
	var kind, id, text string
	if err := r.Scan(&at, &kind, &id, &text); err != nil {
		return "", err
	}
	var lines map[ledger.Account]int64
	if err := json.Unmarshal([]byte(text), &lines); err != nil {
		return "", fmt.Errorf("transfer %s: %w", id, err)
	}
	chart := ledger.Accounts()
	accounts := slices.SortedFunc(maps.Keys(lines), func(a, b ledger.Account) int {
		return cmp.Or(cmp.Compare(slices.Index(chart, a), slices.Index(chart, b)), cmp.Compare(a, b))
	})
	line := entry(at, "%s %s", kind, id)
	for _, account := range accounts {
		line += fmt.Sprintf("\n    %-15s %14s", account, money.New(lines[account], money.USD))
	}
	return line, nil
}

func claimLine(r row) (string, error) {
	var at, minor int64
	var kind, id, status, currency string
	err := r.Scan(&at, &kind, &id, &status, &minor, &currency)
	return entry(at, "%s %s %s of %s", kind, id, status, money.New(minor, money.Currency(currency))), err
}

func eventLine(r row) (string, error) {
	var at, sequence int64
	var kind, id, object string
	err := r.Scan(&at, &kind, &id, &object, &sequence)
	return entry(at, "%s %s, number %d of %s", kind, id, sequence, object), err
}

func deliveryLine(r row) (string, error) {
	d, err := scanDelivery(r)
	if err != nil {
		return "", err
	}
	line := entry(micros(d.CreatedAt), "%s of %s to %s: %s after %d of %d tries", d.ID, d.EventType, d.Subscription, d.Status, d.Attempts, d.Budget)
	if d.Attempts > 0 {
		line += strings.TrimRight(fmt.Sprintf(", last %s: %d %s", moment(d.LastAt), d.LastCode, d.LastError), " ")
	}
	if !d.DueAt.IsZero() {
		line += ", due " + moment(d.DueAt)
	}
	return line, nil
}

// entry is a line that begins with its time.
func entry(at int64, format string, args ...any) string {
	return moment(fromMicros(at)) + "  " + fmt.Sprintf(format, args...)
}

// moment is a time for people, "" where there is none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000")
}
