package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

var retentionTable = table.Describe(table.Table[pay.Retained]{
	Name:    "retention",
	Of:      func(c *pay.Change) []pay.Retained { return c.Retained },
	ID:      func(v *pay.Retained) string { return v.Kind },
	Version: func(v *pay.Retained) int64 { return v.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, v *pay.Retained) {
		f.Text("id!", &v.Kind)
		f.Number("version", &v.Version)
		f.Time("began_at", &v.Began)
		f.Text("upto", &v.UpTo)
	},
})

var (
	selectRetained = engine.Statement(`SELECT ` + retentionTable.List + ` FROM retention WHERE id = $1`)

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
INSERT INTO key_uses (` + strings.Join(keyUsesTable.Names(), ", ") + `)
SELECT u.key_id || ' ', 1, u.key_id, '', min(u.first_at), max(u.last_at) FROM key_uses AS u
WHERE u.last_at < $1 AND u.address <> '' GROUP BY u.key_id ON CONFLICT (id) DO NOTHING`)
	oldKeyUses = engine.Standalone(`
DELETE FROM key_uses WHERE id IN (SELECT d.id FROM key_uses AS d WHERE d.last_at < $1 AND d.address <> '' LIMIT $2 {skip locked d})
RETURNING id`)

	selectObjectEvents = engine.Statement(`SELECT id, payload FROM events WHERE object = $1 ORDER BY sequence`)
	selectSnippets     = engine.Statement(`
SELECT ` + deliveriesTable.List + ` FROM deliveries WHERE event IN (SELECT e.id FROM events AS e WHERE e.object = $1)`)
	selectSomeSessions = engine.Statement(`
SELECT ` + sessionsTable.List + ` FROM sessions WHERE merchant = $1 AND id > $2 ORDER BY id LIMIT $3`)
	selectOldClaims = engine.Statement(`
SELECT id FROM claims WHERE id > $1 AND id < $2 ORDER BY id LIMIT $3`)
)

var selectSomePayments = func() (list []string) {
	for _, table := range []string{"processing", "payments"} {
		list = append(list, engine.Statement(`
SELECT `+paymentsTable.List+` FROM `+table+` WHERE merchant = $1 AND id > $2 ORDER BY id LIMIT $3`))
	}
	return list
}()

// A document that nobody can read hides no other: nothing looks into it.
var selectOldPayments = engine.Statement(`
SELECT id FROM payments WHERE id > $1 AND id < $2 AND doc NOT LIKE '%"erased":%' ORDER BY id LIMIT $3`)

// Retained reads how far data of a kind was looked through; the zero value where it never was.
func (s *Recoveries) Retained(ctx context.Context, kind string) (pay.Retained, error) {
	v, err := base.One(ctx, s.b, selectRetained, retentionTable.Scan(s.b.Personal), kind)
	if errors.Is(err, base.ErrNotFound) {
		return pay.Retained{Kind: kind}, nil
	}
	return v, err
}

// Each calls each with all of a merchant's payments, of both environments. One that
// cannot be read hides no other: unread are the ids of those.
func (s *Payments) Each(ctx context.Context, merchant string, each func(pay.Payment)) (unread []string, err error) {
	for _, text := range selectSomePayments { // processing first: none is missed that leaves it meanwhile
		some, err := eachOf(ctx, s.b, text, merchant, paymentsTable.Scan(s.b.Personal), func(p *pay.Payment) string { return p.ID }, each)
		if unread = append(unread, some...); err != nil {
			return unread, err
		}
	}
	return unread, nil
}

// Each is Payments.Each for checkout sessions.
func (s *Sessions) Each(ctx context.Context, merchant string, each func(pay.Session)) (unread []string, err error) {
	return eachOf(ctx, s.b, selectSomeSessions, merchant, sessionsTable.Scan(s.b.Personal), func(v *pay.Session) string { return v.ID }, each)
}

// eachPage is how many rows are read at a time.
const eachPage = 1000

func eachOf[T any](ctx context.Context, b *base.Base, text, merchant string, scan func(engine.Row) (T, error), id func(*T) string, each func(T)) (unread []string, err error) {
	for after, more := "", true; more; {
		n := 0
		err := b.Query(ctx, text, []any{merchant, after, eachPage}, func(r engine.Row) error {
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
	return base.Many(ctx, s.b, selectOldPayments, base.ScanID, after, below, limit)
}

// Old lists the claims of all merchants whose ids are between two, by id.
func (s *Claims) Old(ctx context.Context, after, below string, limit int) ([]string, error) {
	return base.Many(ctx, s.b, selectOldClaims, base.ScanID, after, below, limit)
}

// Of reads what was told of an object: ids and payloads, nil where one cannot be opened.
func (s *Events) Of(ctx context.Context, object string) ([]pay.Event, error) {
	return base.Many(ctx, s.b, selectObjectEvents, func(r engine.Row) (e pay.Event, err error) {
		var text string
		if err := r.Scan(&e.ID, &text); err != nil {
			return e, err
		}
		e.Payload, err = s.b.Personal.Open(table.EventPayload.About(e.ID), text)
		if errors.Is(err, table.ErrShut) {
			s.b.Log.Error("an event cannot be opened", "error", err)
			err = nil
		}
		return e, err
	}, object)
}

// Of reads the deliveries of what was told of an object.
func (s *Deliveries) Of(ctx context.Context, object string) ([]pay.Delivery, error) {
	return base.Many(ctx, s.b, selectSnippets, deliveriesTable.Scan(s.b.Personal), object)
}

// Forget empties the bodies of at most limit notifications that came before a time,
// and returns of how many.
func (s *Receipts) Forget(ctx context.Context, before time.Time, limit int) (int, error) {
	return forget(ctx, s.b, oldReceipts, table.Micros(before), limit)
}

// ForgetAddresses deletes at most limit addresses of the audit log's entries whose ids are below
// one, and returns how many.
func (s *Audit) ForgetAddresses(ctx context.Context, below string, limit int) (int, error) {
	return forget(ctx, s.b, oldAddresses, below, limit)
}

// ForgetUses deletes at most limit uses of keys of which the last was before a time, and
// returns how many.
func (s *Keys) ForgetUses(ctx context.Context, before time.Time, limit int) (int, error) {
	if err := s.b.DB.Lease(ctx, s.b.Text(keepUsed), []any{table.Micros(before)}, nil); err != nil {
		return 0, fmt.Errorf("forget: %w", err)
	}
	return forget(ctx, s.b, oldKeyUses, table.Micros(before), limit)
}

func forget(ctx context.Context, b *base.Base, text string, before any, limit int) (n int, err error) {
	err = b.DB.Lease(ctx, b.Text(text), []any{before, limit}, func(engine.Row) error { n++; return nil })
	if err != nil {
		err = fmt.Errorf("forget: %w", err)
	}
	return n, err
}
