package people

import (
	"strings"
	"testing"
)

// Nobody who does not ask for less gets a cheap hash: it takes 19 MiB and two passes, and so does the one that is compared
// for an address without a user (DASH-1).
func TestPasswordsAreHashedSlowly(t *testing.T) {
	h := newHashing(0)
	hash, err := h.hash(t.Context(), From{}, "ana@acme.example", "correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	decoy, err := h.decoy()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []string{hash, decoy} {
		if !strings.HasPrefix(one, "$argon2id$v=19$m=19456,t=2,p=1$") {
			t.Errorf("a hash is %s", one)
		}
	}
	for password, want := range map[string]bool{"correct horse battery": true, "correct horse batterx": false} {
		if same, err := h.matches(t.Context(), From{}, "ana@acme.example", password, hash); err != nil || same != want {
			t.Errorf("%q is the password: %v, %v", password, same, err)
		}
	}
}

// Passwords are hashed on half of the processors at most, and one at a time where there is only one (DASH-1).
func TestHashingLeavesProcessors(t *testing.T) {
	for processors, want := range map[int]int64{1: 1, 2: 1, 3: 1, 4: 2, 6: 3, 64: mostHashers} {
		if got := hashers(processors); got != want {
			t.Errorf("of %d processors %d hash passwords, want %d", processors, got, want)
		}
	}
}
