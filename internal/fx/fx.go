// Package fx holds the exchange rates that payments are converted with.
//
// Rates are reference values built into the program: good enough for the
// sandbox, and for production until the operator's own source of rates is
// connected. They say how many units of a currency one US dollar buys.
package fx

import (
	"github.com/cascadapay/cascada/internal/money"
)

// Table is a set of rates to the US dollar. It is read-only and safe for use
// by many goroutines.
type Table struct {
	rates map[money.Currency]money.Rate
}

// reference are mid-market rates of November 2026, rounded.
var reference = map[money.Currency]string{
	"ARS": "1435", "BOB": "6.91", "BRL": "5.4", "CLP": "945", "COP": "4120.5", "CRC": "507", "DOP": "62.5",
	"GTQ": "7.66", "HNL": "26.3", "MXN": "18.35", "NIO": "36.8", "PAB": "1", "PEN": "3.38", "PYG": "7050",
	"USD": "1", "UYU": "39.8",
}

// Reference returns the built-in rates.
func Reference() (Table, error) {
	t := Table{rates: make(map[money.Currency]money.Rate, len(reference))}
	for code, text := range reference {
		rate, err := money.ParseRate(text)
		if err != nil {
			return Table{}, err
		}
		t.rates[code] = rate
	}
	return t, nil
}

// Rate returns how many units of c one US dollar buys, and whether it is known.
func (t Table) Rate(c money.Currency) (money.Rate, bool) {
	r, ok := t.rates[c]
	return r, ok
}
