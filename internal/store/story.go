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
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/claims"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payouts"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

// storyObjects are a payment or a withdrawal, and the payment's claims: their events and deliveries are named after them.
const storyObjects = `(SELECT CAST($1 AS TEXT) AS id UNION ALL SELECT id FROM claims WHERE payment = $1)`

var (
	storyReceipts = engine.Statement(`
SELECT at, verdict, id FROM receipts WHERE payment = $1 ORDER BY at, id`)
	storyTransfers = engine.Statement(`
SELECT at, kind, id, merchant, postings FROM transfers WHERE payment = $1 ORDER BY at, id`)
	storyClaims = engine.Statement(`
SELECT ` + claims.Table.List + ` FROM claims WHERE payment = $1 ORDER BY created_at, id`)
	storyMoves = engine.Statement(`
SELECT at, kind, id, merchant, postings FROM transfers WHERE id >= $1 AND id < $2 ORDER BY at, id`)
	storyWithdrawal = engine.Statement(`
SELECT ` + payouts.Table.List + ` FROM withdrawals WHERE id = $1`)
	storyEvents = engine.Statement(`
SELECT e.at, e.type, e.id, e.object, e.sequence FROM ` + storyObjects + ` AS o JOIN events AS e ON {named e.id evt_ o.id} AND e.object = o.id
ORDER BY e.at, e.object, e.sequence`)
	storyDeliveries = engine.Statement(`
SELECT ` + webhooks.DeliveriesTable.ListOf("d") + ` FROM ` + storyObjects + ` AS o JOIN deliveries AS d ON {named d.id wd_ o.id}
ORDER BY d.created_at, d.id`)
)

// Story prints an object's whole life for people, by the id's type. For a payment: its attempts, the
// providers' notices, its transfers, its claims, its events and their deliveries. For a claim: its
// payment's story. For a withdrawal: when it was sent, its transfers, events and deliveries. The same rows
// give the same text on both engines. It names no person, document, account or body, so it may be pasted
// anywhere.
//
// It scans tables: it is for a failing test and for an incident.
func (s *Store) Story(ctx context.Context, id string) (string, error) {
	var b strings.Builder
	err := s.story(ctx, &b, id)
	if err != nil {
		return "", fmt.Errorf("story of %s: %w", id, err)
	}
	return b.String(), nil
}

func (s *Store) story(ctx context.Context, b *strings.Builder, id string) error {
	if strings.HasPrefix(id, pay.WithdrawalPrefix) {
		return s.storyOfWithdrawal(ctx, b, id)
	}
	if strings.HasPrefix(id, pay.ClaimPrefix) {
		c, err := s.Claims().Any(ctx, id)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "%s is in the story of its payment, %s\n\n", id, c.Payment)
		id = c.Payment
	}
	return s.storyOfPayment(ctx, b, id)
}

func (s *Store) storyOfPayment(ctx context.Context, b *strings.Builder, id string) error {
	p, err := s.Payments().Any(ctx, id)
	if err != nil {
		return err
	}
	tellPayment(b, p)
	return s.chapters(ctx, b, []chapter{
		{"notifications", storyReceipts, receiptLine, []any{id}},
		{"transfers", storyTransfers, transferLine, []any{id}},
		{"claims", storyClaims, s.claimLine, []any{id}},
		{"events", storyEvents, eventLine, []any{id}},
		{"deliveries", storyDeliveries, deliveryLine, []any{id}},
	})
}

func (s *Store) storyOfWithdrawal(ctx context.Context, b *strings.Builder, id string) error {
	w, err := base.One(ctx, s.b, storyWithdrawal, payouts.Table.Scan(s.b.Personal), id)
	if err != nil {
		return err
	}
	wallet, err := s.Wallets().Get(ctx, w.Scope, w.Wallet)
	if err != nil {
		return fmt.Errorf("wallet %s: %w", w.Wallet, err)
	}
	tellWithdrawal(b, w, wallet)
	first, after := w.Transfers()
	return s.chapters(ctx, b, []chapter{
		{"notifications", storyReceipts, receiptLine, []any{id}},
		{"transfers", storyMoves, transferLine, []any{first, after}},
		{"events", storyEvents, eventLine, []any{id}},
		{"deliveries", storyDeliveries, deliveryLine, []any{id}},
	})
}

// chapter is a part of a story, with a line per row.
type chapter struct {
	name, query string
	line        func(engine.Row) (string, error)
	args        []any
}

func (s *Store) chapters(ctx context.Context, b *strings.Builder, list []chapter) error {
	for _, c := range list {
		lines, err := base.Many(ctx, s.b, c.query, c.line, c.args...)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		writeChapter(b, c.name, lines)
	}
	return nil
}

// facts returns a function that writes a line about the object itself, unless the value is empty.
func facts(b *strings.Builder) func(name, value string) {
	return func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "  %-9s %s\n", name, value)
		}
	}
}

// tellWithdrawal writes the withdrawal's own row and its wallet's. It shows the destination as merchants
// see it. It leaves out a wallet's label and a payout provider's message, which are free text.
func tellWithdrawal(b *strings.Builder, w pay.Withdrawal, to pay.Wallet) {
	fmt.Fprintf(b, "%s %s, version %d\n", w.ID, w.Status, w.Version)
	fact := facts(b)
	fact("amount", fmt.Sprintf("%s, with a fee of %s in it", money.New(w.Amount, money.USD), money.New(w.Fee, money.USD)))
	if w.Local.Minor != 0 {
		fact("arrives", fmt.Sprintf("%s, at %s of %s %s", w.Local, w.Rate.Decimal(), w.RateSource, moment(w.RateAt)))
	}
	fact("waits", w.Waiting)
	fact("wallet", fmt.Sprintf("%s %s, %s by %s to %s", to.ID, to.Status, to.Currency, to.Network, to.Masked))
	fact("shop", fmt.Sprintf("%s of %s, %s", w.Shop, w.Merchant, w.Environment()))
	fact("created", moment(w.CreatedAt))
	fact("updated", moment(w.UpdatedAt))
	fact("due", moment(w.DueAt))
	fact("completed", moment(w.CompletedAt))
	fact("failed", strings.TrimSpace(moment(w.FailedAt)+" "+w.FailureCode))
	if w.Returned != 0 {
		fact("came back", fmt.Sprintf("%s of %s, after it had arrived", money.New(w.Returned, money.USD), money.New(w.Net(), money.USD)))
	}
	var tried []string
	for _, a := range w.Tried {
		line := entry(a.Started, "to %s, reference %s", a.Account, a.Reference)
		tried = append(tried, line+strings.TrimRight(fmt.Sprintf("; did not pay it: %s", a.Code), ": ")+why(a.Why, a.Passed))
	}
	if len(tried) > 0 {
		writeChapter(b, "sent before", tried)
	}
	var sent []string
	if !w.Payout.SentAt.IsZero() {
		line := entry(table.Micros(w.Payout.SentAt), "to %s, reference %s", w.Payout.Provider, w.Reference())
		if w.Payout.ProviderRef != "" {
			line += ", theirs " + w.Payout.ProviderRef
		}
		if w.Payout.BankRef != "" {
			line += ", at the bank " + w.Payout.BankRef
		}
		if w.Payout.Batch != "" {
			line += ", in the file of " + w.Payout.Batch
		}
		if w.Payout.Checks > 0 {
			line += fmt.Sprintf("; calls that decided nothing: %d", w.Payout.Checks)
		}
		sent = append(sent, line+why(w.Payout.Why, w.Payout.Passed))
	}
	writeChapter(b, "last sent", sent)
}

// why says how a withdrawal's account was chosen.
func why(chosen string, passed []string) (text string) {
	if chosen != "" {
		text = "\n    " + chosen
	}
	for _, p := range passed {
		text += "\n    passed over: " + p
	}
	return text
}

// tellPayment writes the payment's own row.
func tellPayment(b *strings.Builder, p pay.Payment) {
	fmt.Fprintf(b, "%s %s, version %d\n", p.ID, p.Status, p.Version)
	fact := facts(b)
	fact("amount", fmt.Sprintf("%s, %s at %s", p.Price.Amount, p.Price.Local, p.Price.Rate.Decimal()))
	if p.Price.Source != "" {
		fact("rate", strings.TrimSpace("of "+p.Price.Source+" "+moment(p.Price.At)))
	}
	if p.Refunds.Local != 0 {
		fact("refunded", money.New(p.Refunds.Local, p.Price.Local.Currency).String()+", fees "+string(p.Terms.RefundFees))
	}
	if t := p.Terms.Installments; t.Offered() {
		fact("may pay in", fmt.Sprintf("up to %d installments, %d without interest", t.Max, t.InterestFree))
	}
	if plan := p.End.Plan; plan.Known() {
		fact("paid in", plan.String())
	}
	fact("rail", strings.Join([]string{p.Way.RailID, p.Way.Method, p.Way.Country}, " "))
	fact("order", p.Order.ID)
	fact("shop", fmt.Sprintf("%s of %s, %s", p.Shop, p.Merchant, p.Environment()))
	if p.Work.Answered != "" {
		fact("answered", string(p.Work.Answered)+" to the request that made it")
	}
	fact("simulate", p.Script.Action)
	fact("created", moment(p.Times.Created))
	fact("updated", moment(p.Times.Updated))
	fact("expires", moment(p.Times.Expires))
	fact("due", moment(p.Work.DueAt))
	if f := p.End.Failure; f != nil {
		fact("failed", strings.TrimSpace(f.Code+" "+f.Decline)+": "+f.Message)
	}
	fact("unsure", moment(p.Times.Unsure))
	for _, s := range p.Strays {
		fact("came", strings.Join(slices.DeleteFunc([]string{
			fmt.Sprintf("%s by attempt %d, as %s", s.Local, s.Order, words(string(s.Code))), theirMoney(s.MoneyRef), s.Claim, words(cmp.Or(string(s.End), "open")),
		}, blank), ", "))
	}
	fact("tries again", p.Order.After)
	var attempts []string
	for _, a := range p.Attempts {
		said := slices.DeleteFunc([]string{string(a.Status), string(a.Code), a.Reason()}, blank)
		line := entry(a.Started, "%d at %s: %s, reference %s", a.Order, a.Provider, strings.Join(said, " "), p.Reference(a.Order))
		if a.ProviderRef != "" {
			line += ", theirs " + a.ProviderRef
		}
		if a.MoneyRef != a.ProviderRef && a.MoneyRef != "" {
			line += ", " + theirMoney(a.MoneyRef)
		}
		if a.Ended != 0 {
			line += ", ended " + moment(table.FromMicros(a.Ended))
		}
		if a.Stop != "" {
			line += "; no other was tried: " + a.Stop
		}
		if a.Again {
			line += "; the shopper tried again"
		}
		attempts = append(attempts, line)
		for _, t := range a.Tries {
			attempts = append(attempts, entry(t.At, "  on its page: %s", t))
		}
	}
	writeChapter(b, "attempts", attempts)
}

// writeChapter writes a chapter; an empty one says so.
func writeChapter(b *strings.Builder, chapter string, lines []string) {
	if len(lines) == 0 {
		fmt.Fprintf(b, "%s: none\n", chapter)
		return
	}
	fmt.Fprintf(b, "%s:\n  %s\n", chapter, strings.Join(lines, "\n  "))
}

func receiptLine(r engine.Row) (string, error) {
	var at int64
	var verdict, id string
	err := r.Scan(&at, &verdict, &id)
	return entry(at, "%s %s", verdict, id), err
}

func transferLine(r engine.Row) (string, error) {
	var at int64
	var kind, id, owner, text string
	if err := r.Scan(&at, &kind, &id, &owner, &text); err != nil {
		return "", err
	}
	currency := money.USD
	if _, of, ok := ledger.FloatOf(owner); ok {
		currency = money.Currency(of)
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
		line += fmt.Sprintf("\n    %-15s %14s", account, money.New(lines[account], currency))
	}
	return line, nil
}

func (s *Store) claimLine(r engine.Row) (string, error) {
	c, err := claims.Table.Scan(s.b.Personal)(r)
	if err != nil {
		return "", err
	}
	kind := string(c.Kind)
	if c.Kind == pay.UserDispute {
		kind = "refund by the " + string(c.Origin)
	}
	line := entry(table.Micros(c.CreatedAt), "%s %s %s%s, of %s (%s)", kind, c.ID, c.Status, forWhom(c), c.Local, c.Dollars())
	if dispute := c.Case.String(); dispute != "" {
		line += "; dispute " + dispute
	}
	if c.Previous != "" {
		line += ", after " + c.Previous
	}
	if d := c.Defense; d.State != "" {
		line += fmt.Sprintf("; evidence %s, %d of %d pieces at the provider", d.State, d.Sent, len(c.Evidence))
	}
	if c.Call.State != "" && c.Call.Tries > 0 {
		line += "\n    asked of the provider as " + c.Reference()
	}
	if c.Call.Ref != "" {
		line += "\n    the provider's id of the refund is " + c.Call.Ref
	}
	if c.Call.ByHand != "" {
		line += "\n    given back by hand, the bank's reference is " + c.Call.ByHand
	}
	if c.Call.Returned != "" {
		line += "\n    the money came back, see " + c.Call.Returned
	}
	if c.Status == pay.ClaimNeedsEvidence {
		line += "\n    evidence is due by " + moment(c.DueBy)
	}
	for _, step := range c.Timeline { // without the notes, which people write
		line += "\n    " + entry(step.At, "%s, by the %s", words(string(step.Status)), step.Actor)
	}
	return line, nil
}

// forWhom says in whose favour a claim has ended.
func forWhom(c pay.Claim) string {
	switch {
	case !c.Status.Terminal():
		return ""
	case c.Status.Pays():
		return " for the shopper"
	}
	return " for the merchant"
}

// words are a code as people read it.
func words(code string) string { return strings.ReplaceAll(code, "_", " ") }

// theirMoney is the provider's id of the money, if it is known.
func theirMoney(ref string) string {
	if ref == "" {
		return ""
	}
	return "their money " + ref
}

func blank(text string) bool { return text == "" }

func eventLine(r engine.Row) (string, error) {
	var at, sequence int64
	var kind, id, object string
	err := r.Scan(&at, &kind, &id, &object, &sequence)
	return entry(at, "%s %s, number %d of %s", kind, id, sequence, object), err
}

func deliveryLine(r engine.Row) (string, error) {
	d, err := webhooks.DeliveriesTable.Scan(table.Personal{})(r)
	if err != nil {
		return "", err
	}
	line := entry(table.Micros(d.CreatedAt), "%s of %s to %s: %s after %d of %d tries", d.ID, d.EventType, d.Subscription, d.Status, d.Attempts, d.Budget)
	if d.Attempts > 0 {
		line += strings.TrimRight(fmt.Sprintf(", last %s: %d %s", moment(d.LastAt), d.LastCode, d.LastError), " ")
	}
	if !d.DueAt.IsZero() {
		line += ", due " + moment(d.DueAt)
	}
	return line, nil
}

// entry is a line that starts with its time.
func entry(at int64, format string, args ...any) string {
	return moment(table.FromMicros(at)) + "  " + fmt.Sprintf(format, args...)
}

// moment is a time for people, "" where there is none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05.000")
}
