// Package geo holds the countries of ISO 3166-1 and reads their codes.
//
// It is the validator of country codes, so it reads codes and nothing else: no
// names, no numeric codes, no reserved or withdrawn codes such as UK or AN.
// Names in other languages belong to the view that shows them, and the
// countries where a merchant or a provider works to their configuration.
package geo

import (
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/money"
)

// Country is an entry of ISO 3166-1: a country, or a territory that has its own code. It is
// a plain value; the zero value is not a country.
type Country struct {
	Alpha2 string // Upper case, "MX". This is the code we store and send.
	Alpha3 string // Upper case, "MEX".
	Name   string // In English, in everyday form: "Bolivia".
	// Currency is what a shop there charges in by default. Where several are
	// in use it is the local one: PAB in Panama, although people pay in USD.
	Currency money.Currency
}

// Parse reads an ISO 3166-1 code of two or three letters in any case, with
// space around it allowed. It returns false for anything else: "UK", "076",
// "Mexico" and "" are not codes.
func Parse(s string) (Country, bool) {
	s = strings.TrimSpace(s)
	if len(s) != 2 && len(s) != 3 {
		return Country{}, false
	}
	var buf [3]byte
	code := buf[:len(s)]
	for i := range code {
		code[i] = upper(s[i])
	}
	if len(code) == 2 {
		return byAlpha2(string(code))
	}
	return byAlpha3(string(code))
}

// All is every country, in the order of Alpha2. The slice is the caller's.
func All() []Country {
	return slices.Clone(table[:])
}

func byAlpha2(code string) (Country, bool) {
	i, ok := slices.BinarySearchFunc(table[:], code, func(c Country, code string) int {
		return strings.Compare(c.Alpha2, code)
	})
	if !ok {
		return Country{}, false
	}
	return table[i], true
}

// byAlpha3 walks the table: an index would save half a microsecond on a form
// few callers send.
func byAlpha3(code string) (Country, bool) {
	for i := range table {
		if table[i].Alpha3 == code {
			return table[i], true
		}
	}
	return Country{}, false
}

// upper folds ASCII letters only. strings.ToUpper would turn "ſv", with a long
// s, into El Salvador.
func upper(b byte) byte {
	if 'a' <= b && b <= 'z' {
		return b - 'a' + 'A'
	}
	return b
}
