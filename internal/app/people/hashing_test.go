package people

import "testing"

// Passwords are hashed on half of the processors at most, and one at a time where there is only one (DASH-1).
func TestHashingLeavesProcessors(t *testing.T) {
	for processors, want := range map[int]int64{1: 1, 2: 1, 3: 1, 4: 2, 6: 3, 64: mostHashers} {
		if got := hashers(processors); got != want {
			t.Errorf("of %d processors %d hash passwords, want %d", processors, got, want)
		}
	}
}
