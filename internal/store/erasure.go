package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/hook"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var retentionTable = describe(table[pay.Retained]{
	name:    "retention",
	of:      func(c *pay.Change) []pay.Retained { return c.Retained },
	id:      func(v *pay.Retained) string { return v.Kind },
	version: func(v *pay.Retained) int64 { return v.Version },
	met:     stale,
	fields: func(f *fields, v *pay.Retained) {
		f.text("id!", &v.Kind)
		f.number("version", &v.Version)
		f.time("began_at", &v.Began)
		f.text("upto", &v.UpTo)
	},
})

var (
	selectRetained = engine.Statement(`SELECT ` + retentionTable.list + ` FROM retention WHERE id = $1`)

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
UPDATE events SET payload = r.payload FROM {rows: id TEXT, payload TEXT} AS r WHERE events.id = r.id AND {among events.id id} AND {unless lost}`)

	// Ids begin with their time. What another node deletes just now is not waited for: two that
	// wait for each other's rows would both fail.
	oldReceipts = engine.Standalone(`
UPDATE receipts SET body = '' WHERE id IN (
  SELECT d.id FROM receipts AS d WHERE d.body <> '' AND d.at < $1 AND NOT EXISTS (SELECT 1 FROM misfits AS m WHERE m.id = d.id)
  ORDER BY d.at LIMIT $2 {skip locked d})
RETURNING id`)
	oldAddresses = engine.Standalone(`
DELETE FROM audit_addresses WHERE id IN (SELECT d.id FROM audit_addresses AS d WHERE d.id < $1 ORDER BY d.id LIMIT $2 {skip locked d})
RETURNING id`)
	// That a key was used before stays, or its next address would be its first one.
	keepUsed = engine.Standalone(`
INSERT INTO key_uses (` + strings.Join(keyUsesTable.names(), ", ") + `)
SELECT u.key_id || ' ', 1, u.key_id, '', min(u.first_at), max(u.last_at) FROM key_uses AS u
WHERE u.last_at < $1 AND u.address <> '' GROUP BY u.key_id ON CONFLICT (id) DO NOTHING`)
	oldKeyUses = engine.Standalone(`
DELETE FROM key_uses WHERE id IN (SELECT d.id FROM key_uses AS d WHERE d.last_at < $1 AND d.address <> '' LIMIT $2 {skip locked d})
RETURNING id`)

	selectObjectEvents = engine.Statement(`SELECT id, payload FROM events WHERE object = $1 ORDER BY sequence`)
	selectSnippets     = engine.Statement(`
SELECT ` + deliveriesTable.list + ` FROM deliveries WHERE event IN (SELECT e.id FROM events AS e WHERE e.object = $1)`)
	eraseNotes = engine.Statement(`
DELETE FROM audit_notes WHERE object IN (SELECT r.id FROM {rows: id TEXT} AS r) AND {among audit_notes.object id} AND {unless lost}`)
	selectSomeSessions = engine.Statement(`
SELECT ` + sessionsTable.list + ` FROM sessions WHERE merchant = $1 AND id > $2 ORDER BY id LIMIT $3`)
	selectOldClaims = engine.Statement(`
SELECT id FROM claims WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3`)
)

var selectSomePayments = func() (list []string) {
	for _, table := range []string{"processing", "payments"} {
		list = append(list, engine.Statement(`
SELECT `+paymentsTable.list+` FROM `+table+` WHERE merchant = $1 AND id > $2 ORDER BY id LIMIT $3`))
	}
	return list
}()

// A document that nobody can read hides no other: nothing looks into it.
var selectOldPayments = engine.Statement(`
SELECT id FROM payments WHERE id > $1 AND id < $2 AND doc NOT LIKE '%"erased":%' ORDER BY id LIMIT $3`)

// erase adds what takes shoppers out of the batch's rows.
func (w *write) erase(steps []engine.Step) []engine.Step {
	var payments, claims, events, sessions, notes []string
	payloads := engine.NewRows(w.s.db.Dialect(), engine.ParseColumns("id TEXT, payload TEXT"), 0)
	for _, c := range w.kept {
		e := c.change.Erasure
		if e == nil {
			continue
		}
		payments, claims, sessions = append(payments, e.Payments...), append(claims, e.Claims...), append(sessions, e.Sessions...)
		notes = append(notes, e.Notes...)
		for _, event := range e.Events {
			events = append(events, event.ID)
			payloads.Text(event.ID, w.s.personal.seal(eventPayload.about(event.ID), event.Payload)).Next()
		}
	}
	for _, one := range []struct {
		text string
		ids  []string
	}{{eraseReceipts, payments}, {eraseSessionsOf, payments}, {eraseSessions, sessions}, {eraseFiles, claims}, {eraseInbox, events}, {eraseNotes, notes}} {
		if len(one.ids) > 0 {
			steps = append(steps, engine.Step{Text: w.s.text(one.text), Args: w.s.ids(one.ids)})
		}
	}
	if len(events) > 0 {
		steps = append(steps, engine.Step{Text: w.s.text(eraseEvents), Args: payloads.Args()})
	}
	return steps
}

// Retained reads how far data of a kind was looked through; the zero value where it never was.
func (s *Recoveries) Retained(ctx context.Context, kind string) (pay.Retained, error) {
	v, err := one(ctx, s, selectRetained, retentionTable.scan(s), kind)
	if errors.Is(err, ErrNotFound) {
		return pay.Retained{Kind: kind}, nil
	}
	return v, err
}

// Each calls each with all of a merchant's payments, of both environments. One that
// cannot be read hides no other: unread are the ids of those.
func (s *Payments) Each(ctx context.Context, merchant string, each func(pay.Payment)) (unread []string, err error) {
	for _, text := range selectSomePayments { // processing first: none is missed that leaves it meanwhile
		some, err := eachOf(ctx, s, text, merchant, paymentsTable.scan(s), func(p *pay.Payment) string { return p.ID }, each)
		if unread = append(unread, some...); err != nil {
			return unread, err
		}
	}
	return unread, nil
}

// Each is Payments.Each for checkout sessions.
func (s *Sessions) Each(ctx context.Context, merchant string, each func(pay.Session)) (unread []string, err error) {
	return eachOf(ctx, s, selectSomeSessions, merchant, sessionsTable.scan(s), func(v *pay.Session) string { return v.ID }, each)
}

// eachPage is how many rows are read at a time.
const eachPage = 1000

func eachOf[T any](ctx context.Context, b based, text, merchant string, scan func(engine.Row) (T, error), id func(*T) string, each func(T)) (unread []string, err error) {
	s := b.base()
	for after, more := "", true; more; {
		n := 0
		err := s.query(ctx, text, []any{merchant, after, eachPage}, func(r engine.Row) error {
			v, err := scan(r)
			key := id(&v)
			switch {
			case err == nil:
				each(v)
			case key == "": // not even that
				return err
			default:
				unread = append(unread, key)
			}
			n, after = n+1, key
			return nil
		})
		if err != nil {
			return unread, err
		}
		more = n == eachPage
	}
	return unread, nil
}

// Old lists the payments of all merchants whose ids are between two, by id, but for those
// that are erased.
func (s *Payments) Old(ctx context.Context, after, below string, limit int) ([]string, error) {
	return many(ctx, s, selectOldPayments, scanID, after, below, limit)
}

// Old lists the claims of all merchants whose ids are between two, by id.
func (s *Claims) Old(ctx context.Context, after, below string, limit int) ([]string, error) {
	return many(ctx, s, selectOldClaims, scanID, after, below, limit)
}

func scanID(r engine.Row) (id string, err error) { return id, r.Scan(&id) }

// Of reads what was told of an object: ids and payloads, nil where one cannot be opened.
func (s *Events) Of(ctx context.Context, object string) ([]pay.Event, error) {
	return many(ctx, s, selectObjectEvents, func(r engine.Row) (e pay.Event, err error) {
		var text string
		if err := r.Scan(&e.ID, &text); err != nil {
			return e, err
		}
		e.Payload, err = s.personal.open(eventPayload.about(e.ID), text)
		if errors.Is(err, errShut) {
			s.log.Error("an event cannot be opened", "error", err)
			err = nil
		}
		return e, err
	}, object)
}

// Of reads the deliveries of what was told of an object.
func (s *Deliveries) Of(ctx context.Context, object string) ([]hook.Delivery, error) {
	return many(ctx, s, selectSnippets, deliveriesTable.scan(s), object)
}

// Forget empties the bodies of at most limit notifications that came before a time,
// and returns of how many.
func (s *Receipts) Forget(ctx context.Context, before time.Time, limit int) (int, error) {
	return s.forget(ctx, oldReceipts, micros(before), limit)
}

// ForgetAddresses deletes at most limit addresses of the audit log's entries whose ids are below
// one, and returns how many.
func (s *Audit) ForgetAddresses(ctx context.Context, below string, limit int) (int, error) {
	return s.forget(ctx, oldAddresses, below, limit)
}

// ForgetUses deletes at most limit uses of keys of which the last was before a time, and
// returns how many.
func (s *Keys) ForgetUses(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := s.db.Lease(ctx, s.text(keepUsed), []any{micros(before)}, nil); err != nil {
		return 0, fmt.Errorf("forget: %w", err)
	}
	return s.forget(ctx, oldKeyUses, micros(before), limit)
}

func (s *core) forget(ctx context.Context, text string, before any, limit int) (n int, err error) {
	err = s.db.Lease(ctx, s.text(text), []any{before, limit}, func(engine.Row) error { n++; return nil })
	if err != nil {
		err = fmt.Errorf("forget: %w", err)
	}
	return n, err
}
