package cardnumber

import "time"

// brand is a range of the first six digits of card numbers, with the lengths that its numbers have.
type brand struct {
	from, to int
	lengths  uint32 // bit n: n digits
	written  bool   // only in groups: without them they are more likely other numbers
}

// lengths are the lengths from one to another.
func lengths(from, to int) (bits uint32) {
	for n := from; n <= to; n++ {
		bits |= 1 << n
	}
	return bits
}

const (
	l14, l15, l16, l19 = 1 << 14, 1 << 15, 1 << 16, 1 << 19
)

// brands are the ranges of the schemes that issue cards (ISO/IEC 7812, and what the schemes publish for merchants), and of local
// ones in Latin America. Maestro's numbers of 12 to 15 digits are of its known issuers only: the whole of its range has the form of
// telephone numbers of Colombia and Venezuela. Visa gave its numbers of 13 digits up long ago.
var brands = []brand{
	{400000, 499999, l16 | l19, false},       // Visa, and Elo's 4011 78 and others
	{222100, 272099, l16, false},             // Mastercard
	{510000, 559999, l16, false},             // Mastercard
	{340000, 349999, l15, false},             // American Express
	{370000, 379999, l15, false},             // American Express
	{300000, 305999, l14 | l16, false},       // Diners Club
	{309500, 309599, l14 | l16, false},       // Diners Club
	{360000, 369999, lengths(14, 19), false}, // Diners Club
	{380000, 399999, l14 | l16 | l19, false}, // Diners Club; Hipercard 3841
	{352800, 358999, lengths(16, 19), false}, // JCB
	{213100, 213199, l15, false},             // JCB
	{180000, 180099, l15, false},             // JCB
	{601100, 601199, l16 | l19, false},       // Discover
	{644000, 659999, l16 | l19, false},       // Discover, Elo, RuPay
	{620000, 629999, lengths(16, 19), false}, // UnionPay; Elo 6277 80, Carnet 6275 35
	{810000, 819999, lengths(16, 19), false}, // UnionPay, RuPay
	{500000, 509999, lengths(16, 19), false}, // Maestro, Elo, Aura, Cabal, Carnet, Verve
	{560000, 589999, lengths(16, 19), false}, // Maestro, Naranja, Cabal
	{501800, 501899, lengths(12, 19), false}, // Maestro
	{502000, 502099, lengths(12, 19), false}, // Maestro
	{503800, 503899, lengths(12, 19), false}, // Maestro
	{561200, 561299, lengths(12, 19), false}, // Maestro
	{589300, 589399, lengths(12, 19), false}, // Maestro
	{590000, 590999, l16 | l19, false},       // Codensa
	{600000, 609999, l16 | l19, false},       // Hipercard 6062 82, Cabal 6042 to 6044, Tarjeta Shopping 6034 88, RuPay
	{630400, 630499, lengths(12, 19), false}, // Maestro
	{636000, 639999, lengths(16, 19), false}, // Elo, Hipercard, Carnet, InterPayment, Maestro
	{670000, 679999, lengths(16, 19), false}, // Maestro
	{670000, 679999, lengths(12, 15), true},  // Maestro
	{220000, 220499, lengths(16, 19), false}, // Mir
	{286900, 286900, l16, false},             // Carnet
	{979200, 979299, l16, false},             // Troy
}

// isCard reports whether digits are a card's number. They may be written in groups.
func isCard(digits []byte, written bool) bool {
	n, first := len(digits), 0
	if !luhn(digits) {
		return false
	}
	for _, d := range digits[:6] {
		first = first*10 + int(d)
	}
	for _, b := range brands {
		if first >= b.from && first <= b.to && b.lengths&(1<<n) != 0 && (written || !b.written) {
			return !another(digits) && (written || !moment(digits))
		}
	}
	return false
}

func luhn(digits []byte) bool {
	sum := 0
	for i, d := range digits {
		v := int(d)
		if (len(digits)-i)%2 == 0 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

// another reports whether digits of a card's form are more likely another number: an EAN of 13 digits; a CNPJ of 14; a CLABE of 18.
func another(digits []byte) bool {
	switch len(digits) {
	case 13:
		return weighted(digits, 10, 1, 3)
	case 14:
		return cnpj(digits, 12) && cnpj(digits, 13)
	case 18:
		return weighted(digits, 10, 3, 7, 1)
	}
	return false
}

// weighted reports whether the last digit makes the sum of the digits, with repeating weights, a multiple of a number.
func weighted(digits []byte, modulus int, weights ...int) bool {
	last := len(digits) - 1
	sum := int(digits[last])
	for i, d := range digits[:last] {
		sum += int(d) * weights[i%len(weights)]
	}
	return sum%modulus == 0
}

// cnpj reports whether the digit at a place is the check digit of those before it.
func cnpj(digits []byte, place int) bool {
	sum := 0
	for i, d := range digits[:place] {
		sum += int(d) * (2 + (place-1-i)%8)
	}
	check := 11 - sum%11
	return check > 9 && digits[place] == 0 || check == int(digits[place])
}

// moment reports whether 14 or 16 digits begin with a date and a time of this century: ddMMyyyyHHmmss or yyyyMMddHHmmss, with two more digits
// or without; yyMMddHHmmss with two more.
func moment(digits []byte) bool {
	if len(digits) != 14 && len(digits) != 16 {
		return false
	}
	pair := func(i int) int { return 10*int(digits[i]) + int(digits[i+1]) }
	at := func(year, month, day, hour int) bool {
		of := time.Date(2000+year, time.Month(month), day, 0, 0, 0, 0, time.UTC)
		return month >= 1 && month <= 12 && day >= 1 && of.Day() == day && pair(hour) < 24 && pair(hour+2) < 60 && pair(hour+4) < 60
	}
	return pair(4) == 20 && at(pair(6), pair(2), pair(0), 8) ||
		pair(0) == 20 && at(pair(2), pair(4), pair(6), 8) ||
		len(digits) == 14 && at(pair(0), pair(2), pair(4), 6)
}
