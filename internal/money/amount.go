package money

import (
	"fmt"
	"math"
	"math/bits"
)

// Amount is a number of minor units of a currency: {1250, USD} is 12.50 USD.
// It is a plain value: compare with ==, copy freely. The zero value has no
// currency and can only be compared.
type Amount struct {
	Minor    int64
	Currency Currency
}

// New is the amount of minor units of c: New(1250, USD) is 12.50 USD.
func New(minor int64, c Currency) Amount {
	return Amount{Minor: minor, Currency: c}
}

// Parse reads an amount in major units, written as a JSON number: "25",
// "25.5", "1e2", "-3.10". Trailing zeros do not count as decimals, so "25.500"
// is a good USD amount. Read the raw JSON text, never a float64 of it.
//
// It fails with ErrSyntax for anything that is not a JSON number, ErrPrecision
// when c has fewer decimals than the text needs, and ErrRange when the amount
// does not fit. The time is linear in the length of the text, whatever the
// exponent says. It panics when c is not Valid.
func Parse(text string, c Currency) (Amount, error) {
	exponent := c.Exponent()
	d, err := scan(text)
	if err != nil {
		return Amount{}, fmt.Errorf("parse %s amount: %w", c, err)
	}
	if d.exp < -exponent {
		return Amount{}, fmt.Errorf("parse %s amount: %w", c, ErrPrecision)
	}
	magnitude, ok := scaleUp(d.coef, d.exp+exponent)
	if !ok || d.long {
		return Amount{}, fmt.Errorf("parse %s amount: %w", c, ErrRange)
	}
	minor, ok := signed(d.negative, magnitude)
	if !ok {
		return Amount{}, fmt.Errorf("parse %s amount: %w", c, ErrRange)
	}
	return New(minor, c), nil
}

// Add is a + b. It panics when the currencies differ or the sum overflows.
func (a Amount) Add(b Amount) Amount {
	a.mustMatch(b)
	sum := a.Minor + b.Minor
	if (sum < a.Minor) != (b.Minor < 0) {
		panic("money: overflow adding amounts")
	}
	return New(sum, a.Currency)
}

// Sub is a - b. It panics when the currencies differ or the difference
// overflows.
func (a Amount) Sub(b Amount) Amount {
	a.mustMatch(b)
	difference := a.Minor - b.Minor
	if (difference > a.Minor) != (b.Minor < 0) {
		panic("money: overflow subtracting amounts")
	}
	return New(difference, a.Currency)
}

// Neg is -a. It panics on the smallest int64, which has no opposite.
func (a Amount) Neg() Amount {
	if a.Minor == math.MinInt64 {
		panic("money: overflow negating an amount")
	}
	return New(-a.Minor, a.Currency)
}

// Cmp is -1, 0 or +1 as a is less than, equal to or more than b. It panics
// when the currencies differ.
func (a Amount) Cmp(b Amount) int {
	a.mustMatch(b)
	switch {
	case a.Minor < b.Minor:
		return -1
	case a.Minor > b.Minor:
		return 1
	}
	return 0
}

// IsZero reports whether a is zero, in any currency.
func (a Amount) IsZero() bool { return a.Minor == 0 }

// IsPositive reports whether a is more than zero.
func (a Amount) IsPositive() bool { return a.Minor > 0 }

// IsNegative reports whether a is less than zero.
func (a Amount) IsNegative() bool { return a.Minor < 0 }

// Share is bps basis points (1/10,000) of a, rounded once: a 2.9 % fee is
// Share(290, HalfUp). It panics when the result overflows.
func (a Amount) Share(bps int64, r Rounding) Amount {
	return a.Fraction(bps, 10_000, r)
}

// Fraction is a × num / den, exact inside and rounded once at the end. It
// panics when den is not positive or the result overflows.
func (a Amount) Fraction(num, den int64, r Rounding) Amount {
	if den <= 0 {
		panic("money: fraction with a denominator that is not positive")
	}
	negative := (a.Minor < 0) != (num < 0)
	hi, lo := bits.Mul64(magnitude(a.Minor), magnitude(num))
	quotient, ok := divide(hi, lo, uint64(den), negative, r)
	if !ok {
		panic("money: overflow taking a fraction")
	}
	return New(quotient, a.Currency)
}

// Whole is a in whole major units, rounded: 187482.75 COP is 187483 COP. It panics when
// the result overflows.
func (a Amount) Whole(r Rounding) Amount {
	unit := int64(1)
	for range a.Currency.Exponent() {
		unit *= 10
	}
	return New(a.Fraction(1, unit, r).Minor, a.Currency).Fraction(unit, 1, r)
}

// Decimal is the shortest exact JSON number of a in major units: "12.5", "0",
// "-0.05", "1200". Parse reads it back to the same amount. It panics when the
// currency is not Valid.
func (a Amount) Decimal() string {
	var buf [24]byte
	return string(a.AppendDecimal(buf[:0]))
}

// AppendDecimal appends Decimal to b. It allocates only to grow b.
func (a Amount) AppendDecimal(b []byte) []byte {
	units, places := magnitude(a.Minor), a.Currency.Exponent()
	for places > 0 && units%10 == 0 {
		units /= 10
		places--
	}
	if a.IsNegative() {
		b = append(b, '-')
	}
	return appendPlaces(b, units, places)
}

// String is a for people, with all the decimals of its currency: "12.50 USD". For machines
// use Decimal. It is the only method that accepts an invalid currency, so that a log line
// about a bad amount still works.
func (a Amount) String() string {
	if !a.Currency.Valid() {
		return fmt.Sprintf("%d minor units of %q", a.Minor, string(a.Currency))
	}
	var buf [28]byte
	b := buf[:0]
	if a.IsNegative() {
		b = append(b, '-')
	}
	b = appendPlaces(b, magnitude(a.Minor), a.Currency.Exponent())
	b = append(b, ' ')
	return string(append(b, a.Currency...))
}

func (a Amount) mustMatch(b Amount) {
	if a.Currency != b.Currency {
		panic(fmt.Sprintf("money: mixing currencies %q and %q", string(a.Currency), string(b.Currency)))
	}
}
