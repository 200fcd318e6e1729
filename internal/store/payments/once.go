package payments

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// OnceTable is the table once.
var OnceTable = table.Describe(table.Table[pay.Once]{
	Name:   "once",
	Hashed: true,
	Lock:   10,
	Of: func(c *pay.Change) []pay.Once {
		if c.Once == nil {
			return nil
		}
		return []pay.Once{*c.Once}
	},
	ID:       func(o *pay.Once) string { return o.Key },
	Met:      table.Duplicate,
	OftenMet: true, // a request is repeated
	Fields: func(f *table.Fields, o *pay.Once) {
		f.Text("id!", &o.Key)
		f.Text("hash!", &o.Hash)
		f.Text("object!", &o.Object)
		f.Time("at!", &o.At)
	},
})

var (
	selectOnce = engine.Statement(`SELECT ` + OnceTable.List + ` FROM once WHERE id = $1`)
	pageOnce   = engine.Statement(`SELECT coalesce(max(p.id), '') FROM (SELECT id FROM once WHERE id > $1 ORDER BY id LIMIT $2) AS p`)
	purgeOnce  = engine.Standalone(`DELETE FROM once WHERE id > $1 AND id <= $2 AND at < $3 AND hash <> '' RETURNING id`)
)

// Purge looks at the next limit keys after one, and deletes those of requests before a time. It returns the
// last key that it looked at, "" at the end. Keys for once-in-a-lifetime work have no hash and are kept for
// good. It reads keys in their own order: an index by time would cost each payment more than this costs in
// a day.
func (i Idempotency) Purge(ctx context.Context, after string, before time.Time, limit int) (last string, err error) {
	last, err = base.One(ctx, i.b, pageOnce, func(r engine.Row) (id string, err error) { return id, r.Scan(&id) }, after, limit)
	if err != nil || last == "" {
		return "", err
	}
	return last, i.b.DB.Lease(ctx, i.b.Text(purgeOnce), []any{after, last, table.Micros(before)}, func(engine.Row) error { return nil })
}

// Get reads a used key.
func (i Idempotency) Get(ctx context.Context, key string) (pay.Once, error) {
	return base.One(ctx, i.b, selectOnce, OnceTable.Scan(i.b.Personal), key)
}

// Idempotency is the once-keys.
type Idempotency struct{ b *base.Base }

// Idempotency returns the database's Idempotency.
func (o OfPayments) Idempotency() Idempotency { return Idempotency{o.b} }
