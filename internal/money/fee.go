package money

import (
	"fmt"
	"strings"
)

// Fee is the price of a rail: a share of the amount and a flat part in USD
// minor units.
type Fee struct {
	Bps  int64 `json:"bps,omitempty"`  // 1/10,000
	Flat int64 `json:"flat,omitempty"` // USD cents
}

// ParseFee reads a price in its usual form: "2.9%+0.30", "0.99%" or "0.50", the flat part
// in USD.
func ParseFee(text string) (Fee, error) {
	bad := fmt.Errorf("%q is not a price: want PERCENT%%+USD such as 2.9%%+0.30, or one of the two", text)
	share, flat, both := strings.Cut(text, "+")
	percent, hasShare := strings.CutSuffix(share, "%")
	switch {
	case both && !hasShare:
		return Fee{}, bad
	case !both && hasShare:
		flat = "0"
	case !both:
		percent, flat = "0", text
	}
	bps, err := Parse(percent, USD) // two decimals: hundredths of a percent
	if err != nil || bps.IsNegative() {
		return Fee{}, bad
	}
	cents, err := Parse(flat, USD)
	if err != nil || cents.IsNegative() {
		return Fee{}, bad
	}
	return Fee{Bps: bps.Minor, Flat: cents.Minor}, nil
}

// String is the price in ParseFee's form.
func (f Fee) String() string {
	percent, flat := New(f.Bps, USD).Decimal()+"%", New(f.Flat, USD).Decimal()
	switch {
	case f.Flat == 0:
		return percent
	case f.Bps == 0:
		return flat
	}
	return percent + "+" + flat
}

// Share is the part of a fee that is a share of the amount, in USD cents: rounded half up, as providers bill, and
// at least one where a share is agreed.
func (f Fee) Share(usd Amount) int64 {
	if f.Bps == 0 || !usd.IsPositive() {
		return 0
	}
	return max(1, usd.Share(f.Bps, HalfUp).Minor)
}

// LeastWorth is the least amount, in USD cents, of which the fee and a cent for the operator leave the merchant something.
func (f Fee) LeastWorth() int64 {
	least := int64(3)
	for least < f.Flat+f.Share(New(least, USD))+2 {
		least++
	}
	return least
}

// Exact is the fee of an amount in ten thousandths of a US cent, unrounded, for
// comparisons.
func (f Fee) Exact(usd Amount) int64 { return f.Bps*usd.Minor + f.Flat*10_000 }
