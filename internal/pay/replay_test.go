package pay_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
)

// A caller who is told of a running replay takes it for his own: all that he asked for has to be in it.
func TestReplayIsTheSameWhenAllOfItIs(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	asked := pay.Replay{Subscription: "wh_1", From: now.Add(-time.Hour)}
	until := func(to time.Time) pay.Replay { r := asked; r.To = to; return r }
	for _, c := range []struct {
		name        string
		first, next pay.Replay
		same        bool
	}{
		{"no end, twice", asked, asked, true},
		{"one end, twice", until(now.Add(-time.Minute)), until(now.Add(-time.Minute)), true},
		{"a later end", until(now.Add(-time.Minute)), until(now), false},
		{"an end, then none", until(now.Add(-time.Minute)), asked, false},
		{"none, then an end", asked, until(now.Add(-time.Minute)), false},
	} {
		running, err := c.first.Begin(now)
		if err != nil {
			t.Fatal(err)
		}
		if got := running.Same(c.next); got != c.same {
			t.Errorf("%s: same is %v", c.name, got)
		}
	}
}
