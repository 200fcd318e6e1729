package merchants

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// ClocksTable is the table clocks.
var ClocksTable = table.Describe(table.Table[merchants.Clock]{
	Name:    "clocks",
	Hashed:  true,
	Lock:    140,
	Of:      func(c *pay.Change) []merchants.Clock { return c.Clocks },
	ID:      func(v *merchants.Clock) string { return v.Merchant },
	Version: func(v *merchants.Clock) int64 { return v.Version },
	Met:     table.StaleAnyhow,
	Fields: func(f *table.Fields, v *merchants.Clock) {
		f.Text("id!", &v.Merchant)
		f.Number("version", &v.Version)
		f.Duration("advance", &v.Advance)
	},
})

var (
	selectClocks = engine.Statement(`SELECT ` + ClocksTable.List + ` FROM clocks`)
	selectClock  = engine.Statement(selectClocks + ` WHERE id = $1`)
)

// Get reads a merchant's test clock. ErrNotFound if it was never moved.
func (c Clocks) Get(ctx context.Context, merchant string) (merchants.Clock, error) {
	return base.One(ctx, c.b, selectClock, ClocksTable.Scan(c.b.Personal), merchant)
}

// List reads the moved test clocks.
func (c Clocks) List(ctx context.Context) ([]merchants.Clock, error) {
	return base.Many(ctx, c.b, selectClocks, ClocksTable.Scan(c.b.Personal))
}

// Respect sets whether leases look at test clocks. They need not if none was moved.
func (c Clocks) Respect(moved bool) { c.b.Clocked.Store(moved) }

// Remembered sets what renews the memory of test clocks before rows that were leased by one are worked on. It is called once,
// before the first lease.
func (c Clocks) Remembered(renew func(context.Context) error) { c.b.Reclock = renew }

// Clocks are test clocks.
type Clocks struct{ b *base.Base }

// Clocks returns the database's Clocks.
func (o OfMerchants) Clocks() Clocks { return Clocks(o) }
