package money

import (
	"math/bits"
	"strconv"
)

// decimal is a scanned number, ±coef × 10^exp, with no trailing zero in coef.
// Zero has exp 0.
type decimal struct {
	negative bool
	coef     uint64
	exp      int
	// long says the digits did not fit coef, whose value is then meaningless.
	// exp still tells the place of the last digit that is not zero.
	long bool
}

// maxExponent bounds the exponent we believe. It is far outside every range we
// accept, and far longer than any text we could be handed, so no run of zeros
// can bring a clamped exponent back into range.
const maxExponent = 1 << 27

// scan reads a number as RFC 8259 writes one, or fails with ErrSyntax.
func scan(text string) (decimal, error) {
	var d decimal
	rest := text
	if rest != "" && rest[0] == '-' {
		d.negative = true
		rest = rest[1:]
	}
	whole := countDigits(rest)
	if whole == 0 || whole > 1 && rest[0] == '0' {
		return decimal{}, ErrSyntax
	}
	d.push(rest[:whole])
	rest = rest[whole:]
	if rest != "" && rest[0] == '.' {
		places := countDigits(rest[1:])
		if places == 0 {
			return decimal{}, ErrSyntax
		}
		d.push(rest[1 : 1+places])
		d.exp -= places
		rest = rest[1+places:]
	}
	exponent, ok := scanExponent(rest)
	if !ok {
		return decimal{}, ErrSyntax
	}
	d.exp += exponent
	if d.coef == 0 && !d.long {
		d.exp = 0 // "0.00" and "0e9" are plain zero.
	}
	return d, nil
}

// push appends digits to d. Zeros wait in exp until a digit follows them, so
// that trailing ones never use up the room in coef.
func (d *decimal) push(digits string) {
	for i := range len(digits) {
		digit := uint64(digits[i] - '0')
		if digit == 0 {
			d.exp++
			continue
		}
		coef, ok := scaleUp(d.coef, d.exp+1)
		sum, carry := bits.Add64(coef, digit, 0)
		d.long = d.long || !ok || carry != 0
		d.coef, d.exp = sum, 0
	}
}

// scanExponent reads all of text as the exponent part of a number: nothing, or
// e, a sign and digits. A huge one comes back clamped.
func scanExponent(text string) (int, bool) {
	if text == "" {
		return 0, true
	}
	if text[0] != 'e' && text[0] != 'E' {
		return 0, false
	}
	text = text[1:]
	negative := text != "" && text[0] == '-'
	if negative || text != "" && text[0] == '+' {
		text = text[1:]
	}
	if text == "" || countDigits(text) != len(text) {
		return 0, false
	}
	exponent := 0
	for i := range len(text) {
		exponent = min(exponent*10+int(text[i]-'0'), maxExponent)
	}
	if negative {
		exponent = -exponent
	}
	return exponent, true
}

// countDigits is how many ASCII digits text starts with.
func countDigits(text string) int {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// scaleUp is n × 10^places, or false when that does not fit. Zero stays zero
// at any scale. places is not negative.
func scaleUp(n uint64, places int) (uint64, bool) {
	if n == 0 {
		return 0, true
	}
	if places > maxPower {
		return 0, false
	}
	hi, lo := bits.Mul64(n, power(places))
	return lo, hi == 0
}

// maxPower is the largest power of ten that fits 64 bits.
const maxPower = 19

// power is 10^n for n from 0 to maxPower.
func power(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// appendPlaces appends n × 10^-places in plain digits, with all its places.
func appendPlaces(b []byte, n uint64, places int) []byte {
	var buf [20]byte
	digits := strconv.AppendUint(buf[:0], n, 10)
	point := len(digits) - places
	if point > 0 {
		b = append(b, digits[:point]...)
	} else {
		b = append(b, '0')
	}
	if places == 0 {
		return b
	}
	b = append(b, '.')
	for ; point < 0; point++ {
		b = append(b, '0')
	}
	return append(b, digits[point:]...)
}
