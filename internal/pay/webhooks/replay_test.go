package webhooks_test

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay/webhooks"
)

// A caller who gets a running replay treats it as the requested one: it must contain all that was
// requested.
func TestReplayIsTheSameWhenAllOfItIs(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	asked := webhooks.Replay{Subscription: "wh_1", From: now.Add(-time.Hour)}
	until := func(to time.Time) webhooks.Replay { r := asked; r.To = to; return r }
	for _, c := range []struct {
		name        string
		first, next webhooks.Replay
		same        bool
	}{
		{"no end, twice", asked, asked, true},
		{"one end, twice", until(now.Add(-time.Minute)), until(now.Add(-time.Minute)), true},
		{"a later end", until(now.Add(-time.Minute)), until(now), false},
		{"an end, then none", until(now.Add(-time.Minute)), asked, false},
		{"a future end, twice", until(now.Add(time.Hour)), until(now.Add(time.Hour)), true},
		{"a future end that has passed at the second", until(now.Add(time.Second)), until(now.Add(time.Second)), false},
		{"none, then a future end", asked, until(now.Add(time.Hour)), true},
		{"none, then an end that has passed since", asked, until(now.Add(time.Second)), false},
		{"an end within a millisecond, twice", until(now.Add(-time.Microsecond)), until(now.Add(-time.Microsecond)), true},
		{"none, then an end", asked, until(now.Add(-time.Minute)), false},
	} {
		running, err := c.first.Begin(now)
		if err != nil {
			t.Fatal(err)
		}
		if got := running.Same(c.next, now.Add(time.Minute)); got != c.same {
			t.Errorf("%s: same is %v", c.name, got)
		}
	}
}

// Replies show milliseconds. A client that sends no end, and continues from the end that it was
// shown, misses nothing.
func TestReplayEndsWhereItsReplySays(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 700_000, time.UTC)
	for name, end := range map[string]time.Time{"none": {}, "to come": now.Add(time.Hour)} {
		asked := webhooks.Replay{Subscription: "wh_1", From: now.Add(-time.Hour), To: end}
		r, err := asked.Begin(now)
		if err != nil {
			t.Fatal(err)
		}
		if !r.To.Equal(r.To.Truncate(time.Millisecond)) || r.To.Before(now) || r.To.Sub(now) >= time.Millisecond {
			t.Errorf("with an end %s the replay ends at %s", name, r.To)
		}
	}
}
