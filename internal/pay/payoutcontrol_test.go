package pay_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// At the border of an hour (two clocks, or one slow step) what was counted in the new hour stays counted.
func TestLimitsSurviveTwoClocks(t *testing.T) {
	day := time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC)
	c := pay.PayoutControl{PayoutLimits: pay.PayoutLimits{Daily: 100_00}, DayAt: day.Add(-24 * time.Hour), HourAt: day.Add(-time.Hour), DaySum: 100_00, HourSum: 100_00}
	w := pay.Withdrawal{Amount: 90_00}
	late, early := day.Add(time.Millisecond), day.Add(-time.Millisecond)
	c, _ = c.Count(w, late) // the new day has 90 of 100
	if why, _ := c.Holds(w, early); why != pay.WaitsDaily {
		t.Errorf("yesterday's 100 are used up, a node whose clock still has yesterday sends 90 more: %q", why)
	}
	c, _ = c.Count(w, early)
	if why, _ := c.Holds(w, late); why != pay.WaitsDaily {
		t.Errorf("of today's 100 there were 90 used; it is forgotten: %q, %+v", why, c)
	}
}
