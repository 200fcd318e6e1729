package geo

import (
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/currency"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

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

// The other table is Unicode's (CLDR), as golang.org/x/text has it. It is kept by other people from other sources, so an
// agreement of the two is worth something.
func TestTableAgreesWithUnicodes(t *testing.T) {
	ours := map[string]struct {
		currency money.Currency
		why      string
	}{
		"AQ": {"USD", "ISO gives Antarctica none, and they say XXX"},
		"BG": {"EUR", "the euro since 2026"},
		"CW": {"XCG", "XCG replaced ANG in 2025"},
		"HR": {"EUR", "the euro since 2023"},
		"LS": {"LSL", "the rand is used beside its own"},
		"MR": {"MRU", "MRU replaced MRO in 2018"},
		"SL": {"SLE", "SLE replaced SLL"},
		"SX": {"XCG", "XCG replaced ANG in 2025"},
		"VE": {"VES", "VES replaced VEF in 2018"},
		"ZW": {"ZWG", "ZWG replaced ZWL in 2024, and they say USD"},
	}
	// Names that are others, not only written in another way.
	other := map[string]string{
		"BQ": "Caribbean Netherlands", "CC": "Cocos (Keeling) Islands", "CD": "Congo - Kinshasa", "CG": "Congo - Brazzaville", "CV": "Cape Verde",
		"GS": "South Georgia and South Sandwich Islands", "HK": "Hong Kong SAR China", "HM": "Heard and McDonald Islands", "MK": "Macedonia", "MM": "Myanmar (Burma)",
		"MO": "Macau SAR China", "PN": "Pitcairn Islands", "PS": "Palestinian Territories", "SH": "Saint Helena", "SZ": "Swaziland", "TR": "Turkey",
		"UM": "U.S. Outlying Islands", "VC": "Saint Vincent and Grenadines",
	}
	plain := strings.NewReplacer("&", "and", "St. ", "Saint ", "’", "'", "São Tomé", "Sao Tome", "Príncipe", "Principe")
	called := display.English.Regions()
	for _, c := range All() {
		theirs, err := language.ParseRegion(c.Alpha2)
		if err != nil || !theirs.IsCountry() || theirs.Canonicalize() != theirs || theirs.ISO3() != c.Alpha3 {
			t.Errorf("%s is %s here and %s there, %v", c.Alpha2, c.Alpha3, theirs.ISO3(), err)
		}
		if name := plain.Replace(called.Name(theirs)); (name != c.Name || other[c.Alpha2] != "") && name != other[c.Alpha2] {
			t.Errorf("%s is %q here and %q there", c.Alpha2, c.Name, name)
		}
		unit, has := currency.FromRegion(theirs)
		same := has && unit.String() == string(c.Currency)
		exception, known := ours[c.Alpha2]
		switch {
		case !known && !same:
			t.Errorf("%s has %s here and %s there", c.Alpha2, c.Currency, unit)
		case known && same:
			t.Errorf("%s is no longer an exception (%s): delete it", c.Alpha2, exception.why)
		case known && exception.currency != c.Currency:
			t.Errorf("%s has %s, want %s: %s", c.Alpha2, c.Currency, exception.currency, exception.why)
		}
	}
	// Parts of countries that have codes only there, the European Union, and Kosovo, whose code is not ISO's.
	foreign := []string{"AC", "DG", "EA", "EU", "IC", "TA", "XK"}
	for in := currency.Query(currency.Date(time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC))); in.Next(); {
		code := in.Region().String()
		if _, here := Parse(code); here == slices.Contains(foreign, code) {
			t.Errorf("%s, which has a currency there, is a country here: %t", code, here)
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
