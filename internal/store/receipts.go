package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var receiptsTable = describe(table[pay.Receipt]{
	name:     "receipts",
	of:       func(c *pay.Change) []pay.Receipt { return c.Receipts },
	id:       func(n *pay.Receipt) string { return n.ID },
	met:      duplicate,
	oftenMet: true, // a provider tells again
	fields: func(f *fields, n *pay.Receipt) {
		f.text("id!", &n.ID)
		f.text("account!", &n.Account)
		f.text("payment!", &n.Payment)
		word(f, "verdict!", &n.Verdict)
		f.sealed("body!", receiptBody, &n.ID, &n.Body)
		f.time("at!", &n.At)
	},
})

var (
	selectReceipt  = engine.Statement(`SELECT ` + receiptsTable.list + ` FROM receipts WHERE id = $1`)
	selectUnclosed = engine.Statement(`
SELECT ` + receiptsTable.listOf("r") + ` FROM misfits AS m JOIN receipts AS r ON r.id = m.id ORDER BY m.at, m.id LIMIT $1`)
	selectReceiptsOf = engine.Statement(`SELECT ` + receiptsTable.list + ` FROM receipts WHERE payment = $1 ORDER BY at, id`)
)

// listedReceipt returns what reads receipts of a list: one whose body cannot be opened says so in its
// place, and hides no other.
func (s *core) listedReceipt() func(engine.Row) (pay.Receipt, error) {
	scan := receiptsTable.scan(s)
	return func(r engine.Row) (pay.Receipt, error) {
		n, err := scan(r)
		if errors.Is(err, errShut) {
			s.log.Error("a notification cannot be opened", "error", err)
			n.Body, err = []byte(shut), nil
		}
		return n, err
	}
}

// Get reads a notification as it was kept. ErrNotFound.
func (s *Receipts) Get(ctx context.Context, id string) (pay.Receipt, error) {
	return one(ctx, s, selectReceipt, receiptsTable.scan(s), id)
}

// Of reads what was told of a payment, in the order in which it came.
func (s *Receipts) Of(ctx context.Context, payment string) ([]pay.Receipt, error) {
	return many(ctx, s, selectReceiptsOf, s.listedReceipt(), payment)
}

// Unclosed reads the notifications that did not fit their payments and wait for
// the operator, of all tenants, the oldest first.
func (s *Receipts) Unclosed(ctx context.Context, limit int) ([]pay.Receipt, error) {
	return many(ctx, s, selectUnclosed, s.listedReceipt(), limit)
}

// What waits for the operator has a row in misfits, so that neither a merchant's
// balance nor the operator's list looks through all that providers ever told.
var (
	insertMisfits = engine.Statement(`
INSERT INTO misfits (id, merchant, live, payment, amount, at)
SELECT r.id, coalesce(p.merchant, q.merchant, ''), coalesce(p.live, q.live, FALSE), r.payment, coalesce(p.amount, q.amount, 0), r.at
FROM {rows: id TEXT, payment TEXT, at BIGINT} AS r
LEFT JOIN payments AS p ON p.id = r.payment AND {among p.id payment}
LEFT JOIN processing AS q ON q.id = r.payment AND {among q.id payment}
WHERE {unless lost}`)
	// What the operator has closed has a receipt of its own that says so (pay.Receipt.Close).
	closedPrefix  = "/closed/"
	deleteMisfits = engine.Statement(`DELETE FROM misfits WHERE {among id id} AND id IN (SELECT r.id FROM {rows: id TEXT} AS r) AND {unless lost}`)
	selectMisfits = engine.Statement(`
SELECT coalesce(sum(m.n), 0), coalesce(min(m.since), 0), coalesce(sum(m.amount), 0)
FROM (SELECT count(*) AS n, min(at) AS since, max(amount) AS amount FROM misfits WHERE merchant = $1 AND live = $2 GROUP BY payment) AS m`)
)

// Mismatched is how many confirmations did not fit their payments, since when,
// and what those payments are worth in USD cents.
type Mismatched struct {
	Count int64
	Since time.Time
	USD   int64
}

// Mismatched reads the merchant's confirmations that wait for the operator.
func (s *Receipts) Mismatched(ctx context.Context, scope tenant.Scope) (Mismatched, error) {
	return one(ctx, s, selectMisfits, func(r engine.Row) (m Mismatched, err error) {
		var since int64
		err = r.Scan(&m.Count, &since, &m.USD)
		m.Since = fromMicros(since)
		return m, err
	}, scope.Merchant, scope.Live)
}

// noteMisfits keeps of the batch's receipts what waits for the operator, and lets go
// of what he has closed. Payments are where they belong by then.
func (w *write) noteMisfits(steps []engine.Step) []engine.Step {
	d := w.s.db.Dialect()
	opened, closed := engine.NewRows(d, engine.ParseColumns("id TEXT, payment TEXT, at BIGINT"), 0), engine.NewRows(d, engine.ParseColumns("id TEXT"), 0)
	for _, r := range gather(w.kept, receiptsTable.of, nil) {
		switch r.Verdict {
		case pay.Mismatched:
			opened.Text(r.ID, r.Payment).Number(micros(r.At)).Next()
		case pay.Closed:
			closed.Text(strings.TrimPrefix(r.ID, closedPrefix)).Next()
		}
	}
	if opened.N > 0 {
		steps = append(steps, engine.Step{Text: w.s.text(insertMisfits), Args: opened.Args()})
	}
	if closed.N > 0 {
		steps = append(steps, engine.Step{Text: w.s.text(deleteMisfits), Args: closed.Args()})
	}
	return steps
}
