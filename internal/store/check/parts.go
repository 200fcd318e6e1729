package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/mails"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	storeaudit "github.com/cascadapay/cascada/internal/store/audit"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// part is a table that is checked in bounded steps, in id order. Statements about some of its rows find
// other rows by id or through an index.
type part struct {
	table, prefix string // of its ids
	next          string // where the next step begins
	when          recency
	large         bool // its rows have files in them
	invariants    []invariant
	tallies       []tally
	each          func(c *checker, ask engine.Asking, from, before string) ([]Broken, error) // nil: only invariants
	hash          *rowHash                                                                   // nil: its rows have no hashes
}

// recency says which rows of a part an incremental check visits.
type recency int

const (
	touched recency = iota // rows made or possibly changed since: ids are in time order
	always                 // all rows
	never
)

// parts are in checking order.
var parts = lookedAt([]part{
	{table: "audit_addresses", prefix: audit.Prefix, each: addressesOf(storeaudit.SelectAddresses)},
	{table: "audit_notes", prefix: audit.Prefix, each: addressesOf(storeaudit.SelectNotes)},
	{table: "transfers", prefix: ledger.TransferPrefix, invariants: transferInvariants, each: (*checker).unclaimed},
	{table: "payments", prefix: pay.PaymentPrefix, invariants: paymentInvariants, tallies: []tally{paymentTally, analyticsTally}},
	{table: "claims", prefix: pay.ClaimPrefix, invariants: claimInvariants},
	{table: "events", prefix: webhooks.EventPrefix, invariants: eventInvariants},
	{table: "deliveries", prefix: webhooks.DeliveryPrefix, invariants: deliveryInvariants, tallies: []tally{deliveryTally}},
	{table: "sessions", prefix: pay.SessionPrefix, invariants: sessionInvariants},
	{table: "payment_links", prefix: pay.PaymentLinkPrefix, when: always, invariants: linkInvariants},
	{table: "link_uses", prefix: pay.LinkUsePrefix, invariants: useInvariants},
	{table: "files", large: true, prefix: pay.EvidencePrefix, invariants: fileInvariants},
	{table: "inbox", prefix: webhooks.InboxPrefix, invariants: inboxInvariants},
	{table: "receipts", when: never, invariants: receiptInvariants},
	{table: "settlement_lines", prefix: ledger.TransferPrefix, when: never, invariants: lineInvariants, tallies: []tally{lineTally, reserveTally}},
	{table: "settlements", prefix: pay.SettlementPrefix, when: always, invariants: settlementInvariants, each: (*checker).settlementsCovered},
	{table: "reserves", when: always, invariants: reserveInvariants},
	{table: "adjustments", when: always, invariants: adjustmentInvariants},
	{table: "withdrawals", prefix: pay.WithdrawalPrefix, when: always, invariants: withdrawalInvariants, each: (*checker).withdrawalsCover},
	{table: "wallets", prefix: pay.WalletPrefix, when: always},
	{table: "documents", large: true, prefix: pay.SettlementPrefix},
	{table: "mails", prefix: mails.Prefix, when: always},
	{table: "replays", prefix: webhooks.ReplayPrefix, when: always},
	{table: "once", when: never},
	{table: "logins", when: never},
	{table: "signins", when: never},
})

const (
	// partRows is the most rows that one snapshot checks. When the server ends snapshots, the number is
	// halved down to fewestRows.
	partRows, fewestRows = 2000, 50
	// largeRows is that for tables with files in their rows.
	largeRows = 50
	// touchedAtOnce is how many old payments and claims one snapshot checks.
	touchedAtOnce = 50
)

// lookedAt makes the statements that find where each part's next step begins. It adds the tables whose rows have
// hashes and nothing else to prove.
func lookedAt(parts []part) []part {
	for _, s := range table.Hashings() {
		at := slices.IndexFunc(parts, func(p part) bool { return p.table == s.Table })
		if at < 0 {
			at, parts = len(parts), append(parts, part{table: s.Table, when: always})
		}
		parts[at].hash = newRowHash(s)
	}
	for i := range parts {
		parts[i].next = engine.Statement("SELECT p.id FROM " + parts[i].table + " AS p WHERE p.id >= $1 ORDER BY p.id LIMIT 1 OFFSET CAST($2 AS INTEGER)")
	}
	return parts
}

// allParts check everything, each a part.
func allParts() []job {
	var jobs []job
	for _, p := range parts {
		jobs = append(jobs, func(c *checker, ctx context.Context) error { return c.stretch(ctx, p, "") })
	}
	return jobs
}

// partsSince checks new rows, and older rows that may have changed.
func (c *checker) partsSince(ctx context.Context) error {
	since := c.since
	old := slices.Clone(since.Open)
	for suffix := range c.walked.touched {
		if suffix < since.From {
			old = append(old, suffix)
		}
	}
	slices.Sort(old)
	old = slices.Compact(old)
	for _, p := range parts {
		switch p.when {
		case never:
			continue
		case always:
			if err := c.stretch(ctx, p, ""); err != nil {
				return err
			}
			continue
		}
		for some := range slices.Chunk(old, touchedAtOnce) {
			if err := c.these(ctx, p, some); err != nil {
				return err
			}
		}
		if err := c.stretch(ctx, p, p.prefix+since.From); err != nil {
			return err
		}
	}
	return nil
}

// stretch checks a part from an id on, with a snapshot per step.
func (c *checker) stretch(ctx context.Context, p part, from string) error {
	c.at(p.table)
	for from != base.BehindAll {
		before, broken, sums := base.BehindAll, []Broken(nil), map[string]counts{}
		rows := 0
		err := c.read(ctx, engine.ByIndex, func(ask engine.Asking) error {
			before = base.BehindAll
			broken = nil
			sums = map[string]counts{}
			rows = c.rowsAtOnce
			if p.large {
				rows = min(rows, largeRows)
			}
			err := ask(p.next, []any{from, rows}, func(r engine.Row) error { return r.Scan(&before) })
			some := before != base.BehindAll
			if err == nil && !some {
				var id string
				err = ask(p.next, []any{from, 0}, func(r engine.Row) error { some = true; return r.Scan(&id) })
			}
			if err != nil {
				return fmt.Errorf("look at %s: %w", p.table, err)
			}
			if !some { // every invariant of a part begins with its rows
				return nil
			}
			if broken, err = c.prove(ask, p, from, before); err != nil {
				return err
			}
			for _, t := range p.tallies {
				if sums[t.name], err = t.read(ask, t.text, from, before); err != nil {
					return err
				}
			}
			return nil
		})
		c.addAll(broken)
		if err != nil {
			return err
		}
		for name, some := range sums {
			c.tallies[name] = c.tallies[name].plus(some)
		}
		c.done(int64(rows))
		from = before
	}
	return nil
}

// these checks the rows of a part that are named after old objects.
func (c *checker) these(ctx context.Context, p part, suffixes []string) error {
	var broken []Broken
	err := c.read(ctx, engine.ByIndex, func(ask engine.Asking) error {
		broken = nil
		for _, suffix := range suffixes { // "." follows the hyphen
			found, err := c.prove(ask, p, p.prefix+suffix, p.prefix+suffix+".")
			broken = append(broken, found...)
			if err != nil {
				return err
			}
		}
		return nil
	})
	c.addAll(broken)
	return err
}

// prove runs the invariants of a part on some of its rows, after their hashes: those name the row whatever happened to it.
func (c *checker) prove(ask engine.Asking, p part, from, before string) (broken []Broken, err error) {
	if p.hash != nil {
		if broken, err = p.hash.prove(c, ask, from, before); err != nil {
			return broken, err
		}
	}
	for _, r := range p.invariants {
		if err := breaks(ask, r, &broken, from, before); err != nil {
			return broken, err
		}
	}
	if p.each == nil {
		return broken, nil
	}
	found, err := p.each(c, ask, from, before)
	return append(broken, found...), err
}

// sinceWhen is the time of each owner's oldest uncollected transfer with a reserve.
type sinceWhen map[books.Purse]int64

func (c *checker) unclaimed(ask engine.Asking, from, before string) ([]Broken, error) {
	return nil, ask(selectUnclaimed, []any{from, before}, func(r engine.Row) error {
		var of books.Purse
		var at int64
		err := r.Scan(&of.Merchant, &of.Live, &at)
		if first, known := c.unclaimedSince[of]; !known || at < first {
			c.unclaimedSince[of] = at
		}
		return err
	})
}

// commitsLate is how long after its time a transfer may be written.
const commitsLate = time.Hour

// whole checks what needs the whole tables: that counters and sums match the rows.
func (c *checker) whole(ctx context.Context) error {
	for _, p := range parts {
		for _, t := range p.tallies {
			c.at(t.name)
			if err := t.compare(ctx, c); err != nil {
				return err
			}
		}
	}
	c.at("what no settlement has claimed")
	broken, err := c.compareReserves(ctx, c.unclaimedSince)
	if err == nil && len(broken) > 0 { // also finds rows that a slow clock wrote late
		broken, err = c.compareReserves(ctx, nil)
	}
	c.addAll(broken)
	return err
}

// compareReserves compares reserves with the transfers of each owner since a time; nil: with all.
func (c *checker) compareReserves(ctx context.Context, since sinceWhen) (broken []Broken, err error) {
	err = c.read(ctx, engine.ByAnyPlan, func(ask engine.Asking) error {
		broken = nil
		owners, err := collect(ask, selectOwners, func(r engine.Row) (of books.Purse, err error) {
			err = r.Scan(&of.Merchant, &of.Live)
			return of, err
		})
		if err != nil {
			return err
		}
		from := engine.NewRows(c.db.Dialect(), engine.ParseColumns("merchant TEXT, live BOOLEAN, at BIGINT"), len(owners))
		for _, of := range owners {
			at := int64(0)
			if since != nil {
				at = table.Micros(c.now.Add(-commitsLate))
				if first, known := since[of]; known {
					at = min(at, first)
				}
			}
			from.Text(of.Merchant).Flag(of.Live).Number(at).Next()
		}
		for _, r := range unclaimedInvariants {
			if err := breaks(ask, r, &broken, from.Args()...); err != nil {
				return err
			}
		}
		return nil
	})
	return broken, err
}

// selectSizes estimates the row counts of a check's tables.
var selectSizes = engine.Statement(func() string {
	var list []string
	for _, p := range parts {
		list = append(list, fmt.Sprintf("SELECT '%[1]s', {size %[1]s}", p.table))
	}
	return strings.Join(append(list, "SELECT 'audit', {size audit}"), " UNION ALL ")
}())
