package merchants

import (
	"testing"
	"time"
)

// Payouts are made on the days that are named; a day that a month does not have is its last one (PLAN-4).
func TestDaysOfPayouts(t *testing.T) {
	days := func(list ...int) (d PayoutDays) {
		for _, day := range list {
			d.Monthdays = d.Monthdays.With(day)
		}
		return d
	}
	for _, c := range []struct {
		days PayoutDays
		at   string
		want bool
	}{
		{PayoutDays{}, "2026-02-28T10:00:00Z", true},
		{PayoutDays{Weekdays: Weekdays(0).With(time.Monday)}, "2026-03-02T00:00:00Z", true},
		{PayoutDays{Weekdays: Weekdays(0).With(time.Monday)}, "2026-03-02T23:30:00-02:00", false}, // it is Tuesday in UTC
		{days(1, 15), "2026-03-15T23:59:59Z", true},
		{days(1, 15), "2026-03-31T12:00:00Z", false},
		{days(31), "2026-02-28T00:00:00Z", true},
		{days(31), "2028-02-28T00:00:00Z", false},
		{days(31), "2028-02-29T00:00:00Z", true},
		{days(30), "2026-04-30T00:00:00Z", true},
		{days(30), "2026-03-31T00:00:00Z", false},
		{days(29, 30), "2026-02-28T00:00:00Z", true},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.days.Has(at); got != c.want {
			t.Errorf("days %v of the month, %v of the week at %s: %t", c.days.Monthdays.List(), c.days.Weekdays.Words(), c.at, got)
		}
	}
}
