package checkout

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/catalog"
)

// No sentence is left in one language only, and none is asked for that is not
// there.
func TestEverySentenceIsInEveryLanguage(t *testing.T) {
	texts, err := readTexts()
	if err != nil {
		t.Fatal(err)
	}
	keys := slices.Sorted(maps.Keys(texts["en"]))
	hole := regexp.MustCompile(`\{\w+\}`)
	for _, lang := range languages {
		if got := slices.Sorted(maps.Keys(texts[lang])); !slices.Equal(got, keys) {
			t.Errorf("%s has other keys than en: %v, want %v", lang, got, keys)
		}
		for key, sentence := range texts[lang] {
			want := slices.Sorted(slices.Values(hole.FindAllString(texts["en"][key], -1)))
			if got := slices.Sorted(slices.Values(hole.FindAllString(sentence, -1))); !slices.Equal(got, want) || strings.TrimSpace(sentence) == "" {
				t.Errorf("%s %s is %q, with %v for values, want %v", lang, key, sentence, got, want)
			}
		}
	}
	asked := regexp.MustCompile(`\.T "(\w+)"|v\.T\("(\w+)"|"(declined_\w+|clabe|reference|beneficiary)"`)
	sources := os.DirFS(".")
	for _, pattern := range []string{"templates/*.html", "*.go"} {
		files, err := fs.Glob(sources, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := fs.ReadFile(sources, file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range asked.FindAllStringSubmatch(string(text), -1) {
				key := found[1] + found[2] + found[3]
				if _, known := texts["en"][key]; !known && !strings.HasSuffix(key, "_") {
					t.Errorf("%s asks for %q, which no language has", file, key)
				}
			}
		}
	}
}

// A variant says otherwise only what its language says too, and Argentina's shopper is
// spoken to as people speak there.
func TestVariantsSayWhatTheirLanguageSays(t *testing.T) {
	texts, err := readTexts()
	if err != nil {
		t.Fatal(err)
	}
	hole := regexp.MustCompile(`\{\w+\}`)
	for _, variant := range variants {
		body, err := textFiles.ReadFile("text/" + variant + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var own text
		if err := json.Unmarshal(body, &own); err != nil {
			t.Fatal(err)
		}
		for key, sentence := range own {
			base, known := texts[variant[:2]][key]
			if !known || sentence == base || strings.TrimSpace(sentence) == "" {
				t.Errorf("%s %s is %q, and the language says %q", variant, key, sentence, base)
			}
			want := slices.Sorted(slices.Values(hole.FindAllString(base, -1)))
			if got := slices.Sorted(slices.Values(hole.FindAllString(sentence, -1))); !slices.Equal(got, want) {
				t.Errorf("%s %s has %v for values, want %v", variant, key, got, want)
			}
		}
	}
	tuteo := regexp.MustCompile(`(?i)(^|[^\pL])(tú|contigo|puedes|vuelves|terminas|completas|ingresas|elige|paga tu|paga con|abre|escanea|revisa|ingresa|escribe|lleva|guarda|vuelve|espera|intenta|empieza|copia el|muestra|usa|regresa|pregúntale|revísalo)([^\pL]|$)`)
	for key, sentence := range texts["es-AR"] {
		if found := tuteo.FindString(sentence); found != "" {
			t.Errorf("es-AR %s says %q: %s", key, found, sentence)
		}
	}
}

// The words that the designer's review struck out, and a law where there is none.
func TestPagesDoNotSayWhatWasStruckOut(t *testing.T) {
	texts, err := readTexts()
	if err != nil {
		t.Fatal(err)
	}
	struck := regexp.MustCompile(`PIX|Código QR do|Leia o código|comprovante|comprobante a|movido|real money moves|told by itself|\bat once\b|camino de regreso|Continuar a tu banco|o exige por lei|muitos pedidos|por ley|por lei\b|[Bb]y law`)
	for lang, t2 := range texts {
		for key, sentence := range t2 {
			if found := struck.FindString(sentence); found != "" {
				t.Errorf("%s %s says %q: %s", lang, key, found, sentence)
			}
		}
	}
}

// Money is written as people there write it.
func TestAmountsAreWrittenAsInTheirCountry(t *testing.T) {
	for _, c := range []struct {
		amount  money.Amount
		country string
		want    string
	}{
		{money.New(13770, money.BRL), "BRA", "R$\u00a0137,70"},
		{money.New(123456789, money.BRL), "BRA", "R$\u00a01.234.567,89"},
		{money.New(459668, money.MXN), "MEX", "$4,596.68\u00a0MXN"},
		{money.New(18748275, money.COP), "COL", "$187.482,75\u00a0COP"},
		{money.New(45000, money.CLP), "CHL", "$45.000\u00a0CLP"},
		{money.New(500, money.CLP), "CHL", "$500\u00a0CLP"},
		{money.New(9950, money.USD), "USA", "US$\u00a099.50"},
		{money.New(5, money.USD), "USA", "US$\u00a00.05"},
		{money.New(1234567, "PEN"), "PER", "S/\u00a012,345.67"},
		{money.New(1234, "EUR"), "ESP", "EUR\u00a012,34"},
	} {
		if got := amount(c.amount, c.country); got != c.want {
			t.Errorf("%v in %s is %q, want %q", c.amount, c.country, got, c.want)
		}
	}
}

// A limit is written without cents where it has none.
func TestLimitsAreWrittenShort(t *testing.T) {
	for want, a := range map[string]money.Amount{
		"$10,000\u00a0MXN": money.New(1_000_000, money.MXN), "$10.50\u00a0MXN": money.New(1_050, money.MXN), "$45,000\u00a0CLP": money.New(45_000, money.CLP),
	} {
		if got := bound(a, "MEX"); got != want {
			t.Errorf("%v is %q, want %q", a, got, want)
		}
	}
}

// A deadline is told in the shopper's own time.
func TestDeadlinesAreInTheShoppersTime(t *testing.T) {
	at := time.Date(2026, 11, 22, 12, 5, 0, 0, time.UTC)
	for _, c := range [][3]string{
		{"pt", "BRA", "22 de novembro às 09:05"}, {"es", "MEX", "22 de noviembre a las 6:05\u00a0a.m."}, {"es", "ARG", "22 de noviembre a las 09:05"},
		{"en", "COL", "November 22 at 7:05\u00a0AM"}, {"en", "FRA", "November 22 at 12:05 UTC"},
	} {
		if got := moment(at, c[0], c[1], false); got != c[2] {
			t.Errorf("%s in %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
	if got, want := moment(at.Add(7*time.Hour), "es", "MEX", true), "22 de noviembre de 2026 a la 1:05\u00a0p.m."; got != want {
		t.Errorf("on a receipt: %q, want %q", got, want)
	}
	for country, place := range places {
		if _, err := time.LoadLocation(place.zone); err != nil {
			t.Errorf("%s: %v", country, err)
		}
	}
}

// Each country in which a rail is paid has its name in each language. Unicode's table has the same names: as a part of the
// program it would have those of all countries in 260 languages.
func TestCountriesOfRailsHaveTheirNames(t *testing.T) {
	for _, rail := range append(catalog.Rails(), catalog.Sandbox()...) {
		c, ok := geo.Parse(rail.Country)
		if !ok {
			t.Fatalf("%s is paid in %q, which is no country", rail.ID, rail.Country)
		}
		for _, lang := range languages {
			if got, want := countryName(lang, rail.Country), display.Regions(language.Make(lang)).Name(language.MustParseRegion(c.Alpha2)); got != want {
				t.Errorf("%s in %s is %q, want %q", c.Alpha2, lang, got, want)
			}
		}
	}
}
