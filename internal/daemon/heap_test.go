package daemon

import "testing"

func TestMemoryFollowsWhatLives(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name          string
		live, besides uint64
		want          int64
	}{
		{"a quiet service has the budget", 20 * mb, 10 * mb, memoryBudget},
		{"stacks alone may fill it", 0, memoryBudget + 100*mb, memoryBudget + 100*mb},
		{"the heap always has half of what lives in it to grow", 400 * mb, 100 * mb, 700 * mb},
	} {
		if got := needed(c.live, c.besides); got != c.want {
			t.Errorf("%s: %d MB, want %d MB", c.name, got/mb, c.want/mb)
		}
	}
}
