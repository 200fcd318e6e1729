package merchants

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// ResetsTable is the table resets.
var ResetsTable = table.Describe(table.Table[merchants.Reset]{
	Name:    "resets",
	Hashed:  true,
	Lock:    150,
	Of:      func(c *pay.Change) []merchants.Reset { return c.Resets },
	ID:      func(r *merchants.Reset) string { return resetID(r.Merchant) },
	Version: func(r *merchants.Reset) int64 { return r.Version },
	Met:     table.StaleAnyhow,
	Fields: func(f *table.Fields, r *merchants.Reset) {
		id := resetID(r.Merchant)
		f.Text("id!", &id)
		f.Text("merchant!", &r.Merchant)
		f.Number("version", &r.Version)
		f.Time("started_at", &r.StartedAt)
		f.Time("due_at", &r.DueAt)
		f.Time("swept_at", &r.SweptAt)
		f.Time("done_at", &r.DoneAt)
		f.Number("sealed_to", &r.SealedTo)
		f.Number("deleted", &r.Deleted)
	},
})

// resetID differs from the merchant's id: a change may guard both.
func resetID(merchant string) string { return "reset/" + merchant }

// SandboxesBeingEmptied names the merchants whose sandbox is being emptied: until that is done, what is in it does
// not add up.
const SandboxesBeingEmptied = `SELECT e.merchant FROM resets AS e WHERE e.done_at = 0`

// NotEmptied is true of rows whose sandbox is not being emptied.
func NotEmptied(merchant, live string) string {
	return "(" + live + " OR " + merchant + " NOT IN (" + SandboxesBeingEmptied + "))"
}

// NotEmptiedShop is NotEmptied for rows that name only a shop.
func NotEmptiedShop(shop, live string) string {
	return "(" + live + " OR NOT EXISTS (SELECT 1 FROM shops AS h WHERE h.id = " + shop + " AND h.merchant IN (" + SandboxesBeingEmptied + ")))"
}

// NotEmptiedEndpoint is NotEmptied for rows that name only an endpoint.
func NotEmptiedEndpoint(subscription string) string {
	return "NOT EXISTS (SELECT 1 FROM subscriptions AS h WHERE h.id = " + subscription + " AND NOT h.live AND h.merchant IN (" + SandboxesBeingEmptied + "))"
}

var (
	selectReset   = engine.Statement(`SELECT ` + ResetsTable.List + ` FROM resets WHERE id = $1`)
	selectRunning = engine.Statement(`SELECT ` + ResetsTable.List + ` FROM resets WHERE done_at = 0 ORDER BY started_at, id`)
)

// Get reads a merchant's reset: the one that runs, or the last one. ErrNotFound if there was none.
func (r Resets) Get(ctx context.Context, merchant string) (merchants.Reset, error) {
	return base.One(ctx, r.b, selectReset, ResetsTable.Scan(r.b.Personal), resetID(merchant))
}

// Running lists the resets that run, oldest first.
func (r Resets) Running(ctx context.Context) ([]merchants.Reset, error) {
	return base.Many(ctx, r.b, selectRunning, ResetsTable.Scan(r.b.Personal))
}

// Resets are resets of sandboxes.
type Resets struct{ b *base.Base }

// Resets returns the database's Resets.
func (o OfMerchants) Resets() Resets { return Resets(o) }
