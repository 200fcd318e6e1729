package money

import (
	"fmt"
	"math/big"
	"math/bits"
)

// The rates we hold: at most 18 significant digits, from 1e-18 up to, but not
// including, 1e18. Every published rate is well inside, and so is the inverse
// of one.
const (
	rateDigits    = 18
	rateMaxPlaces = 2*rateDigits - 1 // the last digit of the smallest rates
)

// Rate is an exact exchange rate: how many units of one currency are paid for
// one unit of another, both major units. It does not know its two currencies;
// whoever holds it does. Rates that are equal are ==. The zero value is not a
// rate, and converting with it panics.
type Rate struct {
	// The rate is coef / 10^places, with places as small as it can be. That
	// makes the form unique, which == depends on.
	coef   uint64
	places uint8
}

// ParseRate reads a positive number as JSON writes one: "4123.12", "5e-4".
// It fails with ErrSyntax for anything that is not a JSON number, and with
// ErrRange for one that is not positive, has more than 18 significant digits,
// or is outside 1e-18 to 1e18.
func ParseRate(text string) (Rate, error) {
	d, err := scan(text)
	if err != nil {
		return Rate{}, fmt.Errorf("parse rate: %w", err)
	}
	tooPrecise := d.long || d.coef >= power(rateDigits)
	if tooPrecise || d.coef == 0 || d.negative || d.exp < -rateMaxPlaces {
		return Rate{}, fmt.Errorf("parse rate: %w", ErrRange)
	}
	if d.exp >= 0 {
		coef, ok := scaleUp(d.coef, d.exp)
		if !ok || coef >= power(rateDigits) {
			return Rate{}, fmt.Errorf("parse rate: %w", ErrRange)
		}
		return Rate{coef: coef}, nil
	}
	r := Rate{coef: d.coef, places: uint8(-d.exp)}
	if r.places > rateDigits && r.coef < power(int(r.places)-rateDigits) {
		return Rate{}, fmt.Errorf("parse rate: %w", ErrRange) // below 1e-18
	}
	return r, nil
}

// Convert is a × r in the currency to, rounded once. It fails with ErrRange
// when the result does not fit, which a bad rate from outside can cause, and
// panics on a zero Rate or a currency that is not Valid.
func (r Rate) Convert(a Amount, to Currency, rnd Rounding) (Amount, error) {
	r.mustBeSet()
	shift := to.Exponent() - a.Currency.Exponent() - int(r.places)
	if shift < 0 {
		return scaled(a, to, r.coef, 0, 1, -shift, rnd)
	}
	return scaled(a, to, r.coef, shift, 1, 0, rnd)
}

// ConvertBack is a ÷ r in the currency to, rounded once: the way back from
// Convert, give or take the rounding. It fails and panics as Convert does.
func (r Rate) ConvertBack(a Amount, to Currency, rnd Rounding) (Amount, error) {
	r.mustBeSet()
	shift := to.Exponent() - a.Currency.Exponent() + int(r.places)
	if shift < 0 {
		return scaled(a, to, 1, 0, r.coef, -shift, rnd)
	}
	return scaled(a, to, 1, shift, r.coef, 0, rnd)
}

// Decimal is the rate as a plain JSON number, exact: "4123.12", "0.0005".
// ParseRate reads it back to the same rate.
func (r Rate) Decimal() string {
	var buf [rateMaxPlaces + 2]byte
	return string(appendPlaces(buf[:0], r.coef, int(r.places)))
}

// String is Decimal, for logs and failures of tests.
func (r Rate) String() string { return r.Decimal() }

// IsZero says whether r is the zero value, that is: no rate was set.
func (r Rate) IsZero() bool { return r.coef == 0 }

// Differs says whether r is more than bps 1/10,000 of o away from o. It panics
// when either is zero.
func (r Rate) Differs(o Rate, bps int64) bool {
	r.mustBeSet()
	o.mustBeSet()
	mine, other := bigScaled(r.coef, int(o.places)), bigScaled(o.coef, int(r.places)) // at the same scale
	step := new(big.Int).Sub(mine, other)
	step.Abs(step).Mul(step, big.NewInt(10_000))
	return step.Cmp(other.Mul(other, big.NewInt(bps))) > 0
}

func (r Rate) mustBeSet() {
	if r.IsZero() {
		panic("money: converting with a zero rate")
	}
}

// scaled is a × num × 10^numTens / (den × 10^denTens) in the currency to. Real
// payments fit 128 bits; the rest take the slow way to the same answer.
func scaled(a Amount, to Currency, num uint64, numTens int, den uint64, denTens int, rnd Rounding) (Amount, error) {
	num64, numFits := scaleUp(num, numTens)
	den64, denFits := scaleUp(den, denTens)
	var minor int64
	var ok bool
	if numFits && denFits {
		hi, lo := bits.Mul64(magnitude(a.Minor), num64)
		minor, ok = divide(hi, lo, den64, a.IsNegative(), rnd)
	} else {
		minor, ok = divideBig(a.Minor, bigScaled(num, numTens), bigScaled(den, denTens), rnd)
	}
	if !ok {
		return Amount{}, fmt.Errorf("convert to %s: %w", to, ErrRange)
	}
	return New(minor, to), nil
}

// divideBig is n × num / den rounded, or false when that does not fit int64.
func divideBig(n int64, num, den *big.Int, r Rounding) (int64, bool) {
	product := new(big.Int).SetUint64(magnitude(n))
	product.Mul(product, num)
	quotient, rest := product.QuoRem(product, den, new(big.Int))
	if rest.Sign() != 0 {
		half := new(big.Int).Lsh(rest, 1).Cmp(den)
		if r.away(half, quotient.Bit(0) == 1) {
			quotient.Add(quotient, big.NewInt(1))
		}
	}
	if !quotient.IsUint64() {
		return 0, false
	}
	return signed(n < 0, quotient.Uint64())
}

// bigScaled is n × 10^places.
func bigScaled(n uint64, places int) *big.Int {
	tens := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(places)), nil)
	return tens.Mul(tens, new(big.Int).SetUint64(n))
}
