// Package feed holds the exchange rates with which payments are converted, and reads
// published rates from files and JSON endpoints.
//
// A rate is how many units of a currency one US dollar buys. The built-in rates are for the
// sandbox; production uses only rates that the operator set or fetched. internal/pay
// decides which reading counts, and the database keeps them.
package feed

import (
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

// Table is a set of rates to the US dollar. It is read-only and safe for concurrent use.
type Table struct {
	known   map[money.Currency]rates.KnownRate
	builtIn map[money.Currency]rates.Reading
}

// BuiltIn is the source of the built-in rates.
const BuiltIn = "built-in"

// reference are mid-market rates of November 2026, rounded.
var reference = map[money.Currency]string{
	"ARS": "1435", "BOB": "6.91", "BRL": "5.4", "CLP": "945", "COP": "4120.5", "CRC": "507", "DOP": "62.5",
	"GTQ": "7.66", "HNL": "26.3", "MXN": "18.35", "NIO": "36.8", "PAB": "1", "PEN": "3.38", "PYG": "7050",
	"USD": "1", "UYU": "39.8",
}

// referenceAt is when they were noted.
var referenceAt = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// Reference returns the built-in rates.
func Reference() (Table, error) {
	t := Table{builtIn: make(map[money.Currency]rates.Reading, len(reference))}
	for code, text := range reference {
		rate, err := money.ParseRate(text)
		if err != nil {
			return Table{}, err
		}
		t.builtIn[code] = rates.Reading{Currency: code, Rate: rate, Source: BuiltIn, At: referenceAt}
		if code == money.USD {
			t.builtIn[code] = rates.Reading{Currency: code, Rate: rate}
		}
	}
	return t, nil
}

// With returns the table with other known rates.
func (t Table) With(known []rates.KnownRate) Table {
	t.known = make(map[money.Currency]rates.KnownRate, len(known))
	for _, q := range known {
		t.known[q.Currency] = q
	}
	return t
}

// Known returns the rate that the operator set or fetched for a currency; without a rate if
// there is none.
func (t Table) Known(c money.Currency) rates.KnownRate { return t.known[c] }

// BuiltIn returns the built-in rate of a currency; without a rate if there is none. The
// dollar's has neither a source nor a time.
func (t Table) BuiltIn(c money.Currency) rates.Reading { return t.builtIn[c] }

// BuiltIns calls each for every built-in rate, in no order.
func (t Table) BuiltIns(each func(rates.Reading)) {
	for _, r := range t.builtIn {
		each(r)
	}
}

// Knows reports whether a currency has any rate.
func (t Table) Knows(c money.Currency) bool {
	return !t.known[c].Rate.IsZero() || !t.builtIn[c].Rate.IsZero()
}

// Currencies lists the currencies that have a rate, by code.
func (t Table) Currencies() (all []money.Currency) {
	for c := range t.builtIn {
		all = append(all, c)
	}
	for c := range t.known {
		all = append(all, c)
	}
	all = slices.DeleteFunc(all, func(c money.Currency) bool { return !t.Knows(c) })
	slices.Sort(all)
	return slices.Compact(all)
}

// EachKnown calls each for every known rate, in no order.
func (t Table) EachKnown(each func(rates.KnownRate)) {
	for _, q := range t.known {
		each(q)
	}
}
