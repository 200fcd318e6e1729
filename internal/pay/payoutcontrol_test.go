package pay_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// At the change of an hour (two clocks, or one slow step), payouts that were counted in the new
// hour stay counted.
func TestLimitsSurviveTwoClocks(t *testing.T) {
	day := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	c := pay.PayoutControl{PayoutLimits: pay.PayoutLimits{Daily: 100_00}, DayAt: day.Add(-24 * time.Hour), HourAt: day.Add(-time.Hour), DaySum: 100_00, HourSum: 100_00}
	w := pay.Withdrawal{Amount: 90_00}
	late, early := day.Add(time.Millisecond), day.Add(-time.Millisecond)
	c, _ = c.Count(w, late) // of the new day's 100, 90 are used
	if why, _ := c.Holds(w, early); why != pay.WaitsDaily {
		t.Errorf("yesterday's 100 are used up, but a node whose clock is still at yesterday sends 90 more: %q", why)
	}
	c, _ = c.Count(w, early)
	if why, _ := c.Holds(w, late); why != pay.WaitsDaily {
		t.Errorf("90 of today's 100 were used, but were forgotten: %q, %+v", why, c)
	}
}
