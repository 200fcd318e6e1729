package payouts

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/table"
)

// ControlsTable is the table payout_controls. New rows are guarded too: if two operators set the first
// limits at once, one retries.
var ControlsTable = table.Describe(table.Table[pay.PayoutControl]{
	Name:    "payout_controls",
	Hashed:  true,
	Lock:    260,
	Of:      func(c *pay.Change) []pay.PayoutControl { return c.Controls },
	ID:      func(c *pay.PayoutControl) string { return c.ID },
	Version: func(c *pay.PayoutControl) int64 { return c.Version },
	Met:     table.Stale,
	Fields: func(f *table.Fields, c *pay.PayoutControl) {
		f.Text("id!", &c.ID)
		f.Number("version", &c.Version)
		f.Text("merchant!", &c.Merchant)
		f.Flag("live!", &c.Live)
		f.Time("hour_at", &c.HourAt)
		f.Number("hour_sum", &c.HourSum)
		f.Time("day_at", &c.DayAt)
		f.Number("day_sum", &c.DaySum)
		f.JSON("doc", &c.PayoutLimits)
	},
})

var (
	selectControls    = engine.Statement(`SELECT ` + ControlsTable.List + ` FROM payout_controls WHERE id = $1 OR id = $2`)
	selectAllControls = engine.Statement(`SELECT ` + ControlsTable.List + ` FROM payout_controls ORDER BY id`)
)

// Controls reads the controls that apply to a merchant's withdrawals: the merchant's own and the global
// one, where they exist.
func (wi Withdrawals) Controls(ctx context.Context, merchant string, live bool) ([]pay.PayoutControl, error) {
	return base.Many(ctx, wi.b, selectControls, ControlsTable.Scan(wi.b.Personal), pay.PayoutControlID("", live), pay.PayoutControlID(merchant, live))
}

// AllControls reads every control.
func (wi Withdrawals) AllControls(ctx context.Context) ([]pay.PayoutControl, error) {
	return base.Many(ctx, wi.b, selectAllControls, ControlsTable.Scan(wi.b.Personal))
}
