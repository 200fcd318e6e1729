package money

import (
	"errors"
	"testing"
	"time"

	"golang.org/x/text/currency"
)

// allCurrencies tries every three-letter code, as the table is a switch.
func allCurrencies() []Currency {
	var all []Currency
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			for c := 'A'; c <= 'Z'; c++ {
				if code := Currency([]rune{a, b, c}); code.Valid() {
					all = append(all, code)
				}
			}
		}
	}
	return all
}

func TestExponentsAreThoseOfISO4217(t *testing.T) {
	cases := []struct {
		currency Currency
		want     int
	}{
		{USD, 2}, {BRL, 2}, {MXN, 2}, {ARS, 2}, {PEN, 2}, {"EUR", 2}, {"UYU", 2}, {"CRC", 2},
		// CLDR, which most libraries copy, says 0 for these.
		{COP, 2}, {"IDR", 2}, {"LBP", 2}, {"AFN", 2}, {"PKR", 2}, {"TZS", 2}, {"HUF", 2}, {"MGA", 2}, {"MRU", 2},
		{CLP, 0}, {"PYG", 0}, {"JPY", 0}, {"KRW", 0}, {"ISK", 0}, {"UGX", 0}, {"XAF", 0}, {"UYI", 0},
		{"KWD", 3}, {"BHD", 3}, {"TND", 3}, {"IQD", 3},
		{"CLF", 4}, {"UYW", 4},
		{"COU", 2}, {"MXV", 2}, {"BOV", 2}, {"VED", 2}, {"VES", 2}, {"XCG", 2}, {"ZWG", 2}, {"XAD", 2},
	}
	for _, c := range cases {
		if got := c.currency.Exponent(); got != c.want {
			t.Errorf("%s has %d decimals, want %d", c.currency, got, c.want)
		}
	}
}

// The number is the list's own, so that a line lost in an edit is noticed: list one
// has 178 codes since amendment 180 took out BGN, and 13 of them have no minor unit.
func TestTableHasTheWholeList(t *testing.T) {
	if got, want := len(allCurrencies()), 178-13; got != want {
		t.Errorf("the table has %d codes, want %d", got, want)
	}
	withdrawn := []string{"ANG", "BGN", "CUC", "HRK", "SLL", "VEF", "ZWL", "BYR", "STD", "MRO", "LTL", "EEK", "YUD", "YUM", "CSD"}
	noMinorUnit := []string{"XAU", "XAG", "XPT", "XPD", "XDR", "XSU", "XUA", "XBA", "XBB", "XBC", "XBD", "XTS", "XXX"}
	for _, code := range append(withdrawn, noMinorUnit...) {
		if Currency(code).Valid() {
			t.Errorf("%s is in the table, want it out", code)
		}
	}
}

// The other table is Unicode's (CLDR), as golang.org/x/text has it. It is kept by other people from other sources, and is slow
// to let go.
func TestNoCurrencyOfACountryIsMissing(t *testing.T) {
	gone := map[string]string{
		"ANG": "XCG replaced it in 2025",
		"BGN": "EUR replaced it in 2026",
		"CUC": "withdrawn in 2021",
		"HRK": "EUR replaced it in 2023",
		"MRO": "MRU replaced it in 2018",
		"SLL": "SLE replaced it in 2022",
		"VEF": "VES replaced it in 2018",
	}
	seen := map[string]bool{}
	for in := currency.Query(currency.Date(time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC))); in.Next(); {
		code := in.Unit().String()
		seen[code] = true
		if in.IsTender() && gone[code] == "" && !Currency(code).Valid() {
			t.Errorf("%s of %s is not in the table", code, in.Region())
		}
	}
	if len(seen) < 150 {
		t.Errorf("the other table has %d currencies", len(seen))
	}
	for code, why := range gone {
		if !seen[code] || Currency(code).Valid() {
			t.Errorf("%s is no longer an exception (%s): delete it", code, why)
		}
	}
}

func TestParseCurrencyTakesOneSpellingOnly(t *testing.T) {
	for _, text := range []string{"USD", "COP", "XCG"} {
		if got, err := ParseCurrency(text); err != nil || got != Currency(text) {
			t.Errorf("ParseCurrency(%q) is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "usd", "Usd", " USD", "USD ", "US", "USDT", "840", "XXX", "BGN", "U\x00D"} {
		if got, err := ParseCurrency(text); !errors.Is(err, ErrCurrency) || got != "" {
			t.Errorf("ParseCurrency(%q) is %q, %v, want ErrCurrency", text, got, err)
		}
	}
}

func TestUnknownCurrencyHasNoExponent(t *testing.T) {
	for _, c := range []Currency{"", "usd", "XXX"} {
		mustPanic(t, "Exponent of "+string(c), func() { c.Exponent() })
	}
}

func mustPanic(t *testing.T, what string, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Errorf("%s did not panic", what)
		}
	}()
	f()
}
