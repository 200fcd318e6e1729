package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
)

// held are the merchant's accounts in the order in which a story prints them. Together they are all of
// the merchant's money.
var held = []ledger.Account{ledger.Pending, ledger.Available, ledger.Frozen, ledger.Reserve, ledger.Suspense, ledger.InTransit}

// MerchantStory prints what moved a merchant's money in an environment, for people: each transfer of the period with
// its postings, the accounts at the end of each day, and sums by kind. Amounts are in USD. each prints every capture; otherwise those of a day are one line. It is made from the present
// balances and the transfers, which are read in one statement: the accounts at the end plus what moved since are the balances.
//
// It reads all transfers since From: it is for an operator who looks at a month.
//
// Errors: ErrNotFound if there is no such merchant.
func (s *Store) MerchantStory(ctx context.Context, scope merchants.Scope, period lists.Span, each bool) (string, error) {
	ctx, cancel := base.Long(ctx)
	defer cancel()
	text, err := s.merchantStory(ctx, scope, period, each)
	if err != nil {
		return "", fmt.Errorf("story of %s: %w", scope.Merchant, err)
	}
	return text, nil
}

func (s *Store) merchantStory(ctx context.Context, scope merchants.Scope, period lists.Span, each bool) (string, error) {
	if _, err := s.Merchants().Get(ctx, scope.Merchant); err != nil {
		return "", err
	}
	days := &diary{each: each, sums: map[ledger.Kind]kindSum{}, moved: ledger.Balances{}}
	since := ledger.Balances{} // what moved after the period
	now, err := s.Books().Since(ctx, scope, period.From, func(t ledger.Transfer) {
		if !period.To.IsZero() && !t.At.Before(period.To) {
			add(since, t)
			return
		}
		days.write(t)
	})
	if err != nil {
		return "", err
	}
	days.close()
	at := ledger.Balances{}
	for _, account := range ledger.Accounts() {
		at[account] = now[account] - since[account] - days.moved[account]
	}
	var b strings.Builder
	until := "now"
	if !period.To.IsZero() {
		until = period.To.UTC().Format(time.DateTime)
	}
	fmt.Fprintf(&b, "%s, %s, from %s to %s, in USD\n\n", scope.Merchant, scope.Environment(), period.From.UTC().Format(time.DateTime), until)
	heading(&b)
	all(&b, "at the start", at)
	for _, d := range days.list {
		fmt.Fprintf(&b, "\n%s\n", d.date)
		for _, line := range d.lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
		for account, amount := range d.moved {
			at[account] += amount
		}
		all(&b, d.date, at)
	}
	b.WriteByte('\n')
	heading(&b)
	all(&b, "at the end", at)
	days.summary(&b)
	return b.String(), nil
}

func add(to ledger.Balances, t ledger.Transfer) {
	for _, p := range t.Postings {
		to[p.Account] += p.Amount
	}
}

// diary collects a story's lines by day (UTC). Transfers come in order of time.
type diary struct {
	each  bool
	list  []storyDay
	sums  map[ledger.Kind]kindSum
	moved ledger.Balances
	// Of the last day: its captures, printed as one line.
	captures kindSum
	captured ledger.Balances
}

type storyDay struct {
	date  string
	lines []string
	moved ledger.Balances
}

// kindSum is how many transfers of a kind there are, and what they add to all of the merchant's money, in USD cents.
type kindSum struct {
	count int
	net   int64
}

func (k kindSum) plus(t ledger.Transfer) kindSum {
	for _, account := range held {
		k.net += t.Amount(account)
	}
	k.count++
	return k
}

func (d *diary) write(t ledger.Transfer) {
	date := t.At.UTC().Format(time.DateOnly)
	if len(d.list) == 0 || d.list[len(d.list)-1].date != date {
		d.close()
		d.list = append(d.list, storyDay{date: date, moved: ledger.Balances{}})
	}
	day := &d.list[len(d.list)-1]
	add(day.moved, t)
	add(d.moved, t)
	d.sums[t.Kind] = d.sums[t.Kind].plus(t)
	if t.Kind == ledger.Capture && !d.each {
		d.captures = d.captures.plus(t)
		add(d.captured, t)
		return
	}
	line := fmt.Sprintf("%s  %s %s", t.At.UTC().Format("15:04:05.000"), t.Kind, t.ID)
	for _, about := range []string{t.Payment, t.Claim} {
		if about != "" {
			line += " " + about
		}
	}
	if t.Local.Currency != "" && t.Local.Currency != money.USD {
		line += ", " + t.Local.String()
	}
	postings := ledger.Balances{}
	add(postings, t)
	day.lines = append(day.lines, line+postingLines(postings))
}

// close writes the captures of the last day, before its other lines.
func (d *diary) close() {
	if d.captures.count > 0 {
		day := &d.list[len(d.list)-1]
		day.lines = slices.Insert(day.lines, 0, fmt.Sprintf("captures: %d", d.captures.count)+postingLines(d.captured))
	}
	d.captures, d.captured = kindSum{}, ledger.Balances{}
}

func postingLines(of ledger.Balances) string {
	var b strings.Builder
	for _, account := range ledger.Accounts() {
		if amount := of[account]; amount != 0 {
			fmt.Fprintf(&b, "\n    %-18s %14s", account, dollars(amount))
		}
	}
	return b.String()
}

func (d *diary) summary(b *strings.Builder) {
	if len(d.sums) == 0 {
		b.WriteString("\nnothing moved\n")
		return
	}
	b.WriteString("\nkinds of transfers, and what they added to the merchant's money:\n")
	for _, kind := range slices.Sorted(maps.Keys(d.sums)) {
		fmt.Fprintf(b, "  %-22s %8d %14s\n", kind, d.sums[kind].count, dollars(d.sums[kind].net))
	}
}

func heading(b *strings.Builder) {
	fmt.Fprintf(b, "%-14s", "")
	for _, account := range held {
		fmt.Fprintf(b, " %12s", account)
	}
	fmt.Fprintf(b, " %12s\n", "together")
}

func all(b *strings.Builder, name string, at ledger.Balances) {
	fmt.Fprintf(b, "%-14s", name)
	for _, account := range held {
		fmt.Fprintf(b, " %12s", dollars(at[account]))
	}
	fmt.Fprintf(b, " %12s\n", dollars(at.Net()))
}

// dollars is an amount of USD cents with two decimals.
func dollars(cents int64) string {
	return strings.TrimSuffix(money.New(cents, money.USD).String(), " USD")
}
