package daemon

import "testing"

func TestMemoryFollowsWhatLives(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		name          string
		live, besides uint64
		want          int64
	}{
		{"stacks can fill it alone", 0, 300 * mb, 300 * mb},
		{"the heap can always grow by half of its live data", 400 * mb, 100 * mb, 700 * mb},
	} {
		if got := needed(c.live, c.besides); got != c.want {
			t.Errorf("%s: %d MB, want %d MB", c.name, got/mb, c.want/mb)
		}
	}
	if lite, other := budget("sqlite:x.db"), budget("postgres://x/y"); lite+sqlitePages != other {
		t.Errorf("SQLite's pages are counted twice, or not at all: %d MB, and %d MB elsewhere", lite/mb, other/mb)
	}
}
