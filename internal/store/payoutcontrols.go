package store

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// A new row is guarded too: of two operators who set the first limits one looks again.
var controlsTable = describe(table[pay.PayoutControl]{
	name:    "payout_controls",
	of:      func(c *pay.Change) []pay.PayoutControl { return c.Controls },
	id:      func(c *pay.PayoutControl) string { return c.ID },
	version: func(c *pay.PayoutControl) int64 { return c.Version },
	met:     stale,
	fields: func(f *fields, c *pay.PayoutControl) {
		f.text("id!", &c.ID)
		f.number("version", &c.Version)
		f.text("merchant!", &c.Merchant)
		f.flag("live!", &c.Live)
		f.time("hour_at", &c.HourAt)
		f.number("hour_sum", &c.HourSum)
		f.time("day_at", &c.DayAt)
		f.number("day_sum", &c.DaySum)
		f.json("doc", &c.PayoutLimits)
	},
})

var (
	selectControls    = engine.Statement(`SELECT ` + controlsTable.list + ` FROM payout_controls WHERE id = $1 OR id = $2`)
	selectAllControls = engine.Statement(`SELECT ` + controlsTable.list + ` FROM payout_controls ORDER BY id`)
)

// Controls reads what a merchant's withdrawals keep to: its own control and the one of all, as
// far as there are any.
func (s *Withdrawals) Controls(ctx context.Context, merchant string, live bool) ([]pay.PayoutControl, error) {
	return many(ctx, s.b, selectControls, controlsTable.scan(s.b.personal), pay.PayoutControlID("", live), pay.PayoutControlID(merchant, live))
}

// AllControls reads every control.
func (s *Withdrawals) AllControls(ctx context.Context) ([]pay.PayoutControl, error) {
	return many(ctx, s.b, selectAllControls, controlsTable.scan(s.b.personal))
}
