package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cascadapay/cascada/internal/pay"
)

// A new row is guarded too: of two operators who set the first limits one looks again.
var controlsTable = newTable("payout_controls", "id TEXT!, version BIGINT, merchant TEXT!, live BOOLEAN!, hour_at BIGINT, hour_sum BIGINT, "+
	"day_at BIGINT, day_sum BIGINT, doc TEXT",
	func(c *pay.PayoutControl) string { return c.ID }, func(c *pay.PayoutControl) int64 { return c.Version },
	func(r *rows, c *pay.PayoutControl) {
		r.text(c.ID).number(c.Version).text(c.Merchant).flag(c.Live).number(micros(c.HourAt), c.HourSum, micros(c.DayAt), c.DaySum).text(encode(c.PayoutLimits))
	}).onceOnly()

func controls(c *pay.Change) []pay.PayoutControl { return c.Controls }

const (
	controlColumns    = "id, version, merchant, live, hour_at, hour_sum, day_at, day_sum, doc"
	selectControls    = `SELECT ` + controlColumns + ` FROM payout_controls WHERE id = $1 OR id = $2`
	selectAllControls = `SELECT ` + controlColumns + ` FROM payout_controls ORDER BY id`
)

func scanControl(r row) (c pay.PayoutControl, err error) {
	var hour, day int64
	var doc string
	if err := r.Scan(&c.ID, &c.Version, &c.Merchant, &c.Live, &hour, &c.HourSum, &day, &c.DaySum, &doc); err != nil {
		return c, err
	}
	c.HourAt, c.DayAt = fromMicros(hour), fromMicros(day)
	if err := json.Unmarshal([]byte(doc), &c.PayoutLimits); err != nil {
		return c, fmt.Errorf("payout control %s: %w", c.ID, err)
	}
	return c, nil
}

// PayoutControls reads what a merchant's withdrawals keep to: its own control and the one of all, as
// far as there are any.
func (s *Store) PayoutControls(ctx context.Context, merchant string, live bool) ([]pay.PayoutControl, error) {
	return many(ctx, s, selectControls, scanControl, pay.PayoutControlID("", live), pay.PayoutControlID(merchant, live))
}

// AllPayoutControls reads every control.
func (s *Store) AllPayoutControls(ctx context.Context) ([]pay.PayoutControl, error) {
	return many(ctx, s, selectAllControls, scanControl)
}

func controlQueries() []string {
	return []string{controlsTable.insert, controlsTable.update, selectControls, selectAllControls}
}
