package store

import (
	"strings"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/audit"
	"github.com/cascadapay/cascada/internal/store/books"
	"github.com/cascadapay/cascada/internal/store/chain"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

// erase adds the steps that remove shoppers' data from the batch's rows.
func (w *write) erase(steps []engine.Step) []engine.Step {
	var payments, claims, events, sessions, notes []string
	var blank []*pay.Event
	for _, c := range w.Kept {
		e := c.Erasure
		if e == nil {
			continue
		}
		payments, claims, sessions = append(payments, e.Payments...), append(claims, e.Claims...), append(sessions, e.Sessions...)
		notes = append(notes, e.Notes...)
		for i := range e.Events {
			events, blank = append(events, e.Events[i].ID), append(blank, &e.Events[i])
		}
	}
	for _, one := range []struct {
		text string
		ids  []string
	}{{eraseReceipts, payments}, {eraseSessionsOf, payments}, {eraseSessions, sessions}, {eraseFiles, claims}, {eraseInbox, events}, {eraseNotes, notes}} {
		if len(one.ids) > 0 {
			steps = append(steps, engine.Step{Text: w.s.b.Text(one.text), Args: w.s.b.IDs(one.ids)})
		}
	}
	if len(events) > 0 {
		steps = append(steps, engine.Step{Text: w.s.b.Text(eraseEvents), Args: webhooks.EventsTable.Rows(w.Dialect, w.Personal, blank).Args()})
	}
	return steps
}

// noteMisfits keeps the batch's mismatched notices for the operator, and drops those that the operator
// closed. Payments are in their final table by then.
func (w *write) noteMisfits(steps []engine.Step) []engine.Step {
	notices := payments.NoticesTable.In(w.Kept, nil)
	if len(notices) == 0 {
		return steps
	}
	d := w.Dialect
	opened, closed := engine.NewRows(d, engine.ParseColumns("id TEXT, payment TEXT, at BIGINT"), 0), engine.NewRows(d, engine.ParseColumns("id TEXT"), 0)
	for _, r := range notices {
		switch r.Verdict {
		case pay.Mismatched:
			opened.Text(r.ID, r.Payment).Number(table.Micros(r.At)).Next()
		case pay.Closed:
			closed.Text(strings.TrimPrefix(r.ID, payments.ClosedPrefix)).Next()
		}
	}
	if opened.N > 0 {
		steps = append(steps, engine.Step{Text: w.s.b.Text(insertMisfits), Args: opened.Args()})
	}
	if closed.N > 0 {
		steps = append(steps, engine.Step{Text: w.s.b.Text(deleteMisfits), Args: closed.Args()})
	}
	return steps
}

// mark stores the hashes of the batch's sealed rows, in one row for all: the rows wait for a block from the
// moment they exist, however late the commit came and whatever clock their times use.
func (w *write) mark(steps []engine.Step) []engine.Step {
	money, acts := books.TransfersTable.In(w.Kept, nil), audit.Table.In(w.Kept, nil)
	if len(money)+len(acts) == 0 {
		return steps
	}
	return append(steps, engine.Step{Text: w.s.b.Text(chain.InsertMark), Args: w.s.sealer.Mark(money, acts)})
}

var (
	eraseReceipts = engine.Statement(`
UPDATE receipts SET body = '' FROM {rows: id TEXT} AS r WHERE receipts.payment = r.id AND {among receipts.payment id} AND receipts.payment <> '' AND {unless lost}`)
	eraseSessions = engine.Statement(`
DELETE FROM sessions WHERE payment = '' AND id IN (SELECT r.id FROM {rows: id TEXT} AS r) AND {among sessions.id id} AND {unless lost}`)
	eraseSessionsOf = engine.Statement(`
DELETE FROM sessions WHERE payment <> '' AND payment IN (SELECT r.id FROM {rows: id TEXT} AS r) AND {among sessions.payment id} AND {unless lost}`)
	eraseFiles = engine.Statement(`
DELETE FROM files WHERE claim IN (SELECT r.id FROM {rows: id TEXT} AS r) AND {among files.claim id} AND {unless lost}`)
	eraseInbox = engine.Statement(`
DELETE FROM inbox WHERE event IN (SELECT r.id FROM {rows: id TEXT} AS r) AND {among inbox.event id} AND {unless lost}`)
	eraseEvents = engine.Statement(`
UPDATE events SET payload = r.payload, row_hash = r.row_hash FROM {rows: ` + webhooks.EventsTable.Spec() + `} AS r WHERE events.id = r.id AND {among events.id id} AND {unless lost}`)

	eraseNotes = engine.Statement(`
DELETE FROM audit_notes WHERE object IN (SELECT r.id FROM {rows: id TEXT} AS r) AND {among audit_notes.object id} AND {unless lost}`)
)

var (
	insertMisfits = engine.Statement(`
INSERT INTO misfits (id, merchant, live, payment, amount, at)
SELECT r.id, coalesce(p.merchant, q.merchant, ''), coalesce(p.live, q.live, FALSE), r.payment, coalesce(p.amount, q.amount, 0), r.at
FROM {rows: id TEXT, payment TEXT, at BIGINT} AS r
LEFT JOIN payments AS p ON p.id = r.payment AND {among p.id payment}
LEFT JOIN processing AS q ON q.id = r.payment AND {among q.id payment}
WHERE {unless lost}`)

	deleteMisfits = engine.Statement(`DELETE FROM misfits WHERE {among id id} AND id IN (SELECT r.id FROM {rows: id TEXT} AS r) AND {unless lost}`)
)
