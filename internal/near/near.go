// Package near guesses which name was meant by one that is not known.
//
// It knows letters, not what names mean. Who asks decides what a guess is good for: a hint, or a
// refusal.
package near

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// longest is longer than any name of ours: what is longer is not looked at.
const longest = 64

// Typo returns the one of the known names that another one is a slip of the pen for: other case,
// other separators, a letter or two too many, too few or in another place. "" where none is near
// enough, and where name is known.
func Typo(name string, known []string) string {
	if len(name) > longest || slices.Contains(known, name) {
		return ""
	}
	wanted := plain(name)
	nearest, least := "", slips(wanted)+1
	for _, k := range known {
		d := levenshtein.ComputeDistance(wanted, plain(k))
		if d > 1 && turned(wanted, plain(k)) {
			d = 1
		}
		if d < least {
			nearest, least = k, d
		}
	}
	return nearest
}

// Meant is Typo, and where that finds none the known name that contains the other one, or is
// contained in it: email for userEmail.
func Meant(name string, known []string) string {
	if typo := Typo(name, known); typo != "" || len(name) > longest || slices.Contains(known, name) {
		return typo
	}
	const least = 4 // letters that mean something by themselves
	wanted := plain(name)
	nearest, extra := "", longest
	for _, k := range known {
		have := plain(k)
		long, short := have, wanted
		if len(long) < len(short) {
			long, short = short, long
		}
		if d := len(long) - len(short); len(short) >= least && strings.Contains(long, short) && d < extra {
			nearest, extra = k, d
		}
	}
	return nearest
}

// slips is how many letters of a name may be wrong.
func slips(name string) int {
	switch n := len(name); {
	case n < 3:
		return 0
	case n < 5:
		return 1
	case n < 10:
		return 2
	}
	return 3
}

// turned reports whether two names have the same letters, and two neighbours of them in another
// order.
func turned(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := 0; i+1 < len(a); i++ {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}

// plain is a name without what people write differently.
func plain(name string) string {
	return separators.Replace(strings.ToLower(name))
}

// separators takes them away. It is made once: that costs a hundred times what using it does.
var separators = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")
