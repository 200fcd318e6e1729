package money

import (
	"fmt"
	"math"
	"math/bits"
)

// Rounding says which whole minor unit an inexact result becomes.
type Rounding uint8

const (
	// HalfEven rounds to the nearest, and a tie to the even neighbour, so that
	// many ties do not add up to a drift. It is the zero value.
	HalfEven Rounding = iota
	// HalfUp rounds to the nearest, and a tie away from zero.
	HalfUp
	// Down rounds toward zero.
	Down
	// Up rounds away from zero.
	Up
)

// away says whether a truncated magnitude gets one more unit. Its remainder is not zero; half
// compares the remainder with one half (-1, 0, +1), and odd says whether the truncated magnitude is
// odd. Signs do not matter: every Rounding is symmetric around zero.
func (r Rounding) away(half int, odd bool) bool {
	switch r {
	case HalfEven:
		return half > 0 || half == 0 && odd
	case HalfUp:
		return half >= 0
	case Down:
		return false
	case Up:
		return true
	}
	panic(fmt.Sprintf("money: unknown rounding %d", uint8(r)))
}

// divide is ±(hi, lo) / den rounded, or false when that does not fit int64.
// den is not zero.
func divide(hi, lo, den uint64, negative bool, r Rounding) (int64, bool) {
	if hi >= den {
		return 0, false
	}
	quotient, rest := bits.Div64(hi, lo, den)
	if rest != 0 && r.away(compareHalf(rest, den), quotient&1 == 1) {
		if quotient == math.MaxUint64 {
			return 0, false
		}
		quotient++
	}
	return signed(negative, quotient)
}

// compareHalf compares rest/den with one half. It subtracts, because doubling the rest could
// overflow.
func compareHalf(rest, den uint64) int {
	other := den - rest
	switch {
	case rest < other:
		return -1
	case rest > other:
		return 1
	}
	return 0
}

// magnitude is |n|, also for the smallest int64, where -n overflows to the
// right bits.
func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// signed is ±magnitude, or false when that does not fit int64.
func signed(negative bool, magnitude uint64) (int64, bool) {
	if negative && magnitude <= 1<<63 {
		return -int64(magnitude), true
	}
	return int64(magnitude), !negative && magnitude <= math.MaxInt64
}
