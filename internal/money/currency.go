// Package money holds amounts of money and exchange rates as exact values, and
// is the only place where they are divided or rounded.
//
// An amount is a whole number of minor units (cents, pesos, fils) and an
// ISO 4217 currency. A rate is an exact decimal. Nothing here passes through a
// float, and every rounding names its direction.
//
// Input from outside is parsed and can fail with an error. Arithmetic between
// values we made ourselves (mixed currencies, a sum past int64) panics, because
// a wrong amount that travels on is worse than a request that dies.
//
// The package does not know how a provider writes amounts: some take CLP or
// COP with decimals that ISO does not give them. That belongs to the adapter.
// It does not know which currencies a merchant accepts, or where rates come
// from.
package money

import (
	"errors"
	"fmt"
)

// The reasons a text is refused. Functions wrap them; match with errors.Is.
var (
	// ErrCurrency says a text is not an active ISO 4217 code in upper case.
	ErrCurrency = errors.New("unknown currency")
	// ErrSyntax says a text is not a number as JSON writes one.
	ErrSyntax = errors.New("not a decimal number")
	// ErrPrecision says an amount has more decimals than its currency. We
	// refuse rather than round: the caller meant some exact amount.
	ErrPrecision = errors.New("more decimals than the currency has")
	// ErrRange says a number, or a converted amount, is outside what we hold.
	ErrRange = errors.New("number out of range")
)

// Currency is an ISO 4217 alphabetic code, such as "USD". Only a code from the
// table is usable; the zero value is not one.
type Currency string

// The currencies we name in code. The others come from ParseCurrency.
const (
	ARS Currency = "ARS"
	BRL Currency = "BRL"
	CLP Currency = "CLP"
	COP Currency = "COP"
	MXN Currency = "MXN"
	PEN Currency = "PEN"
	USD Currency = "USD"
)

// ParseCurrency reads an upper-case ISO 4217 code. Anything else, such as
// "usd", " USD" or a withdrawn code, is ErrCurrency: two spellings of one
// currency would be two ledger accounts.
func ParseCurrency(s string) (Currency, error) {
	c := Currency(s)
	if !c.Valid() {
		return "", fmt.Errorf("parse currency: %w", ErrCurrency)
	}
	return c, nil
}

// Valid says whether c is in the table of active codes.
func (c Currency) Valid() bool {
	return minorDigits(c) >= 0
}

// Exponent is the number of decimal digits between the major and the minor
// unit: 2 for USD, 0 for CLP, 3 for KWD. It panics on a code that is not in
// the table, since a guess would be wrong by a factor of ten or more.
func (c Currency) Exponent() int {
	digits := minorDigits(c)
	if digits < 0 {
		panic(fmt.Sprintf("money: exponent of unknown currency %q", string(c)))
	}
	return digits
}
