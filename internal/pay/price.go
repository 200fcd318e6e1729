package pay

import (
	"fmt"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
)

// ParseFee reads a price as people write it: "2.9%+0.30", "0.99%" or "0.50", the
// flat part in USD.
func ParseFee(text string) (Fee, error) {
	bad := fmt.Errorf("%q is no price: want PERCENT%%+USD such as 2.9%%+0.30, or one of the two", text)
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
	bps, err := money.Parse(percent, money.USD) // two decimals: hundredths of a percent
	if err != nil || bps.IsNegative() {
		return Fee{}, bad
	}
	cents, err := money.Parse(flat, money.USD)
	if err != nil || cents.IsNegative() {
		return Fee{}, bad
	}
	return Fee{Bps: bps.Minor, Flat: cents.Minor}, nil
}

// String is the price as ParseFee reads it.
func (f Fee) String() string {
	percent, flat := money.New(f.Bps, money.USD).Decimal()+"%", money.New(f.Flat, money.USD).Decimal()
	switch {
	case f.Flat == 0:
		return percent
	case f.Bps == 0:
		return flat
	}
	return percent + "+" + flat
}

// ParseLimit reads bounds as people write them: "BRL:1-5000", in major units.
func ParseLimit(text string) (Limit, error) {
	bad := fmt.Errorf("%q are no limits: want CURRENCY:MIN-MAX such as BRL:1-5000", text)
	name, bounds, ok := strings.Cut(text, ":")
	low, high, both := strings.Cut(bounds, "-")
	if !ok || !both {
		return Limit{}, bad
	}
	currency, err := money.ParseCurrency(name)
	if err != nil {
		return Limit{}, fmt.Errorf("%q: %w", name, err)
	}
	least, err := money.Parse(low, currency)
	if err != nil {
		return Limit{}, bad
	}
	most, err := money.Parse(high, currency)
	if err != nil {
		return Limit{}, bad
	}
	return Limit{Currency: currency, Min: least.Minor, Max: most.Minor}, nil
}

// String is the bounds as ParseLimit reads them.
func (l Limit) String() string {
	return fmt.Sprintf("%s:%s-%s", l.Currency, money.New(l.Min, l.Currency).Decimal(), money.New(l.Max, l.Currency).Decimal())
}
