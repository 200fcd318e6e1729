package payments

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// NoticesTable is the table receipts.
var NoticesTable = table.Describe(table.Table[pay.KeptNotice]{
	Name:     "receipts",
	Hashed:   true,
	Loose:    []string{"body"}, // erased later; encrypted for its row
	Lock:     20,
	Of:       func(c *pay.Change) []pay.KeptNotice { return c.Notices },
	ID:       func(n *pay.KeptNotice) string { return n.ID },
	Met:      table.Duplicate,
	OftenMet: true, // a provider repeats itself
	Fields: func(f *table.Fields, n *pay.KeptNotice) {
		f.Text("id!", &n.ID)
		f.Text("account!", &n.Account)
		f.Text("payment!", &n.Payment)
		table.Word(f, "verdict!", &n.Verdict)
		f.Encrypted("body!", table.NoticeBody, &n.ID, &n.Body)
		f.Time("at!", &n.At)
	},
})

var (
	selectNotice   = engine.Statement(`SELECT ` + NoticesTable.List + ` FROM receipts WHERE id = $1`)
	selectUnclosed = engine.Statement(`
SELECT ` + NoticesTable.ListOf("r") + ` FROM misfits AS m JOIN receipts AS r ON r.id = m.id
WHERE $1 = '' OR (m.at, m.id) > (SELECT c.at, c.id FROM receipts AS c WHERE c.id = $1) ORDER BY m.at, m.id LIMIT $2`)
	selectUnknown = engine.Statement(`SELECT ` + NoticesTable.List + ` FROM receipts
WHERE payment = '' AND ($1 = '' OR (at, id) < (SELECT c.at, c.id FROM receipts AS c WHERE c.id = $1)) ORDER BY at DESC, id DESC LIMIT $2`)
	countUnknown    = engine.Statement(`SELECT count(*) FROM misfits AS m JOIN receipts AS r ON r.id = m.id WHERE m.payment = '' AND r.account = $1`)
	selectNoticesOf = engine.Statement(`SELECT ` + NoticesTable.List + ` FROM receipts WHERE payment = $1 ORDER BY at, id`)
)

// listedNotice returns a reader of receipts in a list: if a body cannot be opened, the row says so in its
// place, and the list goes on.
func listedNotice(b *base.Base) func(engine.Row) (pay.KeptNotice, error) {
	scan := NoticesTable.Scan(b.Personal)
	return func(r engine.Row) (pay.KeptNotice, error) {
		n, err := scan(r)
		if errors.Is(err, table.ErrShut) {
			b.Log.Error("a notification cannot be opened", "error", err)
			n.Body, err = []byte(table.Shut), nil
		}
		return n, err
	}
}

// Get reads a notice. Errors: ErrNotFound.
func (nt Notices) Get(ctx context.Context, id string) (pay.KeptNotice, error) {
	return base.One(ctx, nt.b, selectNotice, NoticesTable.Scan(nt.b.Personal), id)
}

// Of reads a payment's notices in order of arrival.
func (nt Notices) Of(ctx context.Context, payment string) ([]pay.KeptNotice, error) {
	return base.Many(ctx, nt.b, selectNoticesOf, listedNotice(nt.b), payment)
}

// Unknown reads notices about objects that the books do not have, newest first.
func (nt Notices) Unknown(ctx context.Context, after string, limit int) ([]pay.KeptNotice, error) {
	return base.Many(ctx, nt.b, selectUnknown, listedNotice(nt.b), after, limit)
}

// UnknownWaits reports whether a notice about an object that the books do not have waits for the operator, of an account.
func (nt Notices) UnknownWaits(ctx context.Context, account string) (bool, error) {
	n, err := base.One(ctx, nt.b, countUnknown, base.ScanInt, account)
	return n > 0, err
}

// Unclosed reads mismatched notices that wait for the operator, of all tenants, oldest first.
func (nt Notices) Unclosed(ctx context.Context, after string, limit int) ([]pay.KeptNotice, error) {
	return base.Many(ctx, nt.b, selectUnclosed, listedNotice(nt.b), after, limit)
}

// Notices that wait for the operator have a row in misfits, so that neither a merchant's balance nor the
// operator's list scans all notices.
var (
	// A notice that the operator closed has a receipt of its own for that (pay.KeptNotice.Close).
	ClosedPrefix  = "/closed/"
	SelectMisfits = engine.Statement(`
SELECT coalesce(sum(m.n), 0), coalesce(min(m.since), 0), coalesce(sum(m.amount), 0)
FROM (SELECT count(*) AS n, min(at) AS since, max(amount) AS amount FROM misfits WHERE merchant = $1 AND live = $2 GROUP BY payment) AS m`)
)

// Mismatched counts the confirmations that do not match their payments, with the oldest one's time and the
// payments' worth in USD cents.
type Mismatched struct {
	Count int64
	Since time.Time
	USD   int64
}

// Mismatched reads the merchant's mismatched confirmations that wait for the operator.
func (nt Notices) Mismatched(ctx context.Context, scope merchants.Scope) (Mismatched, error) {
	return base.One(ctx, nt.b, SelectMisfits, func(r engine.Row) (m Mismatched, err error) {
		var since int64
		err = r.Scan(&m.Count, &since, &m.USD)
		m.Since = table.FromMicros(since)
		return m, err
	}, scope.Merchant, scope.Live)
}

// Notices are providers' notices.
type Notices struct{ b *base.Base }

// Notices returns the database's Notices.
func (o OfPayments) Notices() Notices { return Notices{o.b} }

// Forget empties the bodies of at most limit notifications that came before a time, and returns their
// number.
func (nt Notices) Forget(ctx context.Context, before time.Time, limit int) (int, error) {
	return base.Forget(ctx, nt.b, oldNotices, table.Micros(before), limit)
}

// Ids begin with their time. It skips rows that another node is deleting: two that wait for each other's
// rows would both fail.
var oldNotices = engine.Standalone(`
UPDATE receipts SET body = '' WHERE id IN (
  SELECT d.id FROM receipts AS d WHERE d.body <> '' AND d.at < $1 AND NOT EXISTS (SELECT 1 FROM misfits AS m WHERE m.id = d.id)
  ORDER BY d.at LIMIT $2 {skip locked d})
RETURNING id`)
