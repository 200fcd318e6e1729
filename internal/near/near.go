// Package near guesses the known name that an unknown one was meant to be.
//
// It compares letters, not meanings. The caller decides whether a guess is used for a hint
// or a refusal.
package near

import (
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// longest is longer than any name of ours; longer names are ignored.
const longest = 64

// Typo returns the known name of which name is a misspelling: other case, other separators,
// a letter or two too many, too few or in another place. It returns "" if none is close
// enough, or if name is known.
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

// Meant is like Typo, but if Typo finds nothing, it returns the known name that contains
// name or is contained in it: email for userEmail.
func Meant(name string, known []string) string {
	if typo := Typo(name, known); typo != "" || len(name) > longest || slices.Contains(known, name) {
		return typo
	}
	const least = 4 // fewer letters are not meaningful
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

// turned reports whether two names differ only in the order of two neighboring letters.
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

// plain is a name without usual differences in spelling.
func plain(name string) string {
	return separators.Replace(strings.ToLower(name))
}

// separators removes separators. It is made once, because that costs a hundred times as
// much as its use.
var separators = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")
