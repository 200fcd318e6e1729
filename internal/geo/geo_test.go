package geo

import (
	"slices"
	"strings"
	"testing"

	"github.com/biter777/countries"

	"github.com/cascadapay/cascada/internal/money"
)

func TestParseReadsISOCodesAndNothingElse(t *testing.T) {
	read := []struct{ text, want string }{
		{"MX", "MX"}, {"mx", "MX"}, {"Mx", "MX"}, {"MEX", "MX"}, {"mex", "MX"},
		{" co ", "CO"}, {"\tCOL\n", "CO"}, {"gb", "GB"}, {"ZWE", "ZW"}, {"AND", "AD"},
	}
	for _, c := range read {
		if got, ok := Parse(c.text); !ok || got.Alpha2 != c.want {
			t.Errorf("Parse(%q) is %q, %t, want %q", c.text, got.Alpha2, ok, c.want)
		}
	}
	refused := []string{
		"", " ", "M", "M X", "Mexico", "México", "MEXI", "076", "484", "419", "XX", "ZZ", "ZZZ",
		"UK",        // reserved for GB, and what people type
		"EU",        // reserved
		"AN", "ANT", // withdrawn
		"SU", "YU", "TP", // withdrawn
		"XK", "XKX", // user-assigned
		"ſv", "ıt", "ＭＸ", // letters that only Unicode folds to ours
		"M\x00", "-1",
	}
	for _, text := range refused {
		if got, ok := Parse(text); ok || got != (Country{}) {
			t.Errorf("Parse(%q) is %q, %t, want no country", text, got.Alpha2, ok)
		}
	}
}

func TestEveryCodeReadsBackToItsRow(t *testing.T) {
	for _, c := range All() {
		for _, code := range []string{c.Alpha2, c.Alpha3, strings.ToLower(c.Alpha2), strings.ToLower(c.Alpha3)} {
			if got, ok := Parse(code); !ok || got != c {
				t.Errorf("Parse(%q) is %v, %t, want %v", code, got, ok, c)
			}
		}
	}
}

func TestTableIsSortedCompleteAndWithoutRepeats(t *testing.T) {
	all := All()
	if len(all) != 249 {
		t.Errorf("the table has %d countries, want the 249 of ISO 3166-1", len(all))
	}
	if !slices.IsSortedFunc(all, func(a, b Country) int { return strings.Compare(a.Alpha2, b.Alpha2) }) {
		t.Error("the table is not in the order of Alpha2, so the search would miss rows")
	}
	seen := map[string]string{}
	for _, c := range all {
		for _, word := range []string{c.Alpha2, c.Alpha3, c.Name} {
			if other, ok := seen[word]; ok {
				t.Errorf("%s and %s share %q", other, c.Alpha2, word)
			}
			seen[word] = c.Alpha2
		}
		if len(c.Alpha2) != 2 || len(c.Alpha3) != 3 || strings.TrimSpace(c.Name) != c.Name || c.Name == "" {
			t.Errorf("%v is not well formed", c)
		}
		if !c.Currency.Valid() {
			t.Errorf("%s has the currency %q, which money does not know", c.Alpha2, c.Currency)
		}
	}
}

func TestAllIsACopy(t *testing.T) {
	all := All()
	all[0].Currency = "XXX"
	if got := All()[0].Currency; got == "XXX" {
		t.Error("writing to the result of All changed the table")
	}
}

// The other table is kept by other people from other sources, so an agreement
// of the two is worth something. Names are not compared: theirs are long.
func TestTableAgreesWithAnIndependentOne(t *testing.T) {
	ours := map[string]struct {
		currency money.Currency
		why      string
	}{
		"AQ": {"USD", "ISO gives Antarctica none, and they say Unknown"},
		"BG": {"EUR", "the euro since 2026, and they still say BGN"},
		"CU": {"CUP", "CUC was withdrawn in 2021"},
		"CW": {"XCG", "XCG replaced ANG in 2025"},
		"SL": {"SLE", "SLE replaced SLL"},
		"SV": {"USD", "ISO lists both, and the colón is out of use"},
		"SX": {"XCG", "XCG replaced ANG in 2025"},
		"UY": {"UYU", "they name the index unit UYI"},
		"ZW": {"ZWG", "ZWG replaced ZWL in 2024"},
	}
	for _, c := range All() {
		theirs := countries.ByName(c.Alpha2)
		if !theirs.IsValid() || theirs.Alpha2() != c.Alpha2 || theirs.Alpha3() != c.Alpha3 {
			t.Errorf("%s is %s here and %s there", c.Alpha2, c.Alpha3, theirs.Alpha3())
		}
		same := theirs.Currency().Alpha() == string(c.Currency)
		exception, known := ours[c.Alpha2]
		switch {
		case !known && !same:
			t.Errorf("%s has %s here and %s there", c.Alpha2, c.Currency, theirs.Currency().Alpha())
		case known && same:
			t.Errorf("%s is no longer an exception (%s): delete it", c.Alpha2, exception.why)
		case known && exception.currency != c.Currency:
			t.Errorf("%s has %s, want %s: %s", c.Alpha2, c.Currency, exception.currency, exception.why)
		}
	}
	for _, theirs := range countries.All() {
		_, ok := Parse(theirs.Alpha2())
		// Netherlands Antilles and Yugoslavia are withdrawn; XK is not ISO.
		foreign := slices.Contains([]string{"AN", "YU", "XK"}, theirs.Alpha2())
		if ok == foreign {
			t.Errorf("Parse(%q) found %t, want %t", theirs.Alpha2(), ok, !foreign)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for _, code := range []string{"MX", "MEX"} {
		b.Run(code, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Parse(code)
			}
		})
	}
}
