package checkout

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // deadlines are shown in the shopper's zone, even if the system has no zones

	"github.com/cascadapay/cascada/internal/geo"
	"github.com/cascadapay/cascada/internal/money"
	"golang.org/x/text/language"
)

//go:embed text/*.json
var textFiles embed.FS

// text is every sentence of the pages in one language or variant, by key.
type text map[string]string

// languages are the languages of the pages, the fallback first.
var languages = []string{"en", "es", "pt"}

// variants are the variants of a language by country: a file of the differences, on top of
// the language's file. The fallback suits most countries.
var variants = map[string]string{"ARG": "es-AR", "CHL": "es-CL", "COL": "es-CO", "MEX": "es-MX", "PER": "es-PE"}

var matcher = language.NewMatcher([]language.Tag{language.English, language.Spanish, language.Portuguese})

func readTexts() (map[string]text, error) {
	all := map[string]text{}
	for _, name := range languages {
		body, err := textFiles.ReadFile("text/" + name + ".json")
		if err != nil {
			return nil, err
		}
		var t text
		if err := json.Unmarshal(body, &t); err != nil {
			return nil, fmt.Errorf("checkout texts %s: %w", name, err)
		}
		all[name] = t
	}
	for _, variant := range variants {
		body, err := textFiles.ReadFile("text/" + variant + ".json")
		if err != nil {
			return nil, err
		}
		t := maps.Clone(all[variant[:2]])
		if err := json.Unmarshal(body, &t); err != nil {
			return nil, fmt.Errorf("checkout texts %s: %w", variant, err)
		}
		all[variant] = t
	}
	return all, nil
}

// variantOf is the shopper's variant of a language: that of the first country that the
// browser names with the language, else that of the page's country. A Spaniard and a
// Uruguayan get the language itself.
func variantOf(r *http.Request, lang, country string) string {
	if lang == "pt" {
		return "pt-BR"
	}
	tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	for _, tag := range tags {
		base, _ := tag.Base()
		region, sure := tag.Region()
		if c, ok := geo.Parse(region.String()); err == nil && ok && base.String() == lang && sure == language.Exact {
			country = c.Alpha3
			break
		}
	}
	if variant, ok := variants[country]; ok && variant[:2] == lang {
		return variant
	}
	return lang
}

// languageOf is the language for a request: the one in its address, the one that the
// shopper asked for before, the browser's if we have it, else the country's.
func languageOf(r *http.Request, country string, before ...string) string {
	for _, wanted := range append([]string{addressLanguage(r)}, before...) {
		if slices.Contains(languages, wanted) {
			return wanted
		}
	}
	if tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language")); err == nil && len(tags) > 0 {
		if _, i, sure := matcher.Match(tags...); sure != language.No {
			return languages[i]
		}
	}
	switch country {
	case "":
		return "en"
	case "BRA", "PRT":
		return "pt"
	}
	if place, known := places[country]; known && place.spanish {
		return "es"
	}
	return "en"
}

// writingOf is the country whose format a page uses for all amounts: the page's, if it has
// one; else the browser's; else one for the language.
func writingOf(r *http.Request, country, lang string) string {
	if country != "" {
		return country
	}
	if tags, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language")); err == nil {
		for _, tag := range tags {
			region, sure := tag.Region()
			if c, ok := geo.Parse(region.String()); ok && sure == language.Exact {
				return c.Alpha3
			}
		}
	}
	return map[string]string{"en": "USA", "es": "ESP", "pt": "BRA"}[lang]
}

// place is the formats of a country.
type place struct {
	zone    string // IANA name of the zone where most people live
	spanish bool
}

var places = map[string]place{
	"ARG": {"America/Argentina/Buenos_Aires", true}, "BOL": {"America/La_Paz", true}, "BRA": {"America/Sao_Paulo", false},
	"CHL": {"America/Santiago", true}, "COL": {"America/Bogota", true}, "CRI": {"America/Costa_Rica", true},
	"DOM": {"America/Santo_Domingo", true}, "ECU": {"America/Guayaquil", true}, "ESP": {"Europe/Madrid", true},
	"GTM": {"America/Guatemala", true}, "HND": {"America/Tegucigalpa", true}, "MEX": {"America/Mexico_City", true},
	"NIC": {"America/Managua", true}, "PAN": {"America/Panama", true}, "PER": {"America/Lima", true},
	"PRY": {"America/Asuncion", true}, "SLV": {"America/El_Salvador", true}, "URY": {"America/Montevideo", true},
	"VEN": {"America/Caracas", true},
}

// symbols are the signs of currencies in their own country.
var symbols = map[money.Currency]string{
	"ARS": "$", "BOB": "Bs", "BRL": "R$", "CLP": "$", "COP": "$", "CRC": "₡", "DOP": "RD$", "GTQ": "Q", "HNL": "L",
	"MXN": "$", "NIO": "C$", "PAB": "B/.", "PEN": "S/", "PYG": "₲", "USD": "US$", "UYU": "$U", "VES": "Bs.",
}

// dotted are the countries that write 1.234,50.
var dotted = []string{"ARG", "BOL", "BRA", "CHL", "COL", "CRI", "ECU", "ESP", "PRY", "URY", "VEN"}

// marks are the separators of thousands and of cents in a country.
func marks(country string) (group, point string) {
	if slices.Contains(dotted, country) {
		return ".", ","
	}
	return ",", "."
}

func inThousands(digits, group string) string {
	var b strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteString(group)
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// count writes a number in the format of the page's amounts.
func (v view) count(n int) string {
	group, _ := marks(v.country)
	return inThousands(strconv.Itoa(n), group)
}

// bound writes an amount that is a limit: without cents if it is whole.
func bound(a money.Amount, country string) string {
	if strings.Contains(a.Decimal(), ".") {
		return amount(a, country)
	}
	return written(a, country, 0)
}

// amount writes money in a country's format, with the currency's code if its sign alone is
// ambiguous.
func amount(a money.Amount, country string) string {
	return written(a, country, a.Currency.Exponent())
}

// written is like amount, with a number of decimals.
func written(a money.Amount, country string, decimals int) string {
	number := a.Decimal()
	whole, cents, _ := strings.Cut(number, ".")
	group, point := marks(country)
	var b strings.Builder
	b.WriteString(inThousands(whole, group))
	if decimals > 0 {
		b.WriteString(point + (cents + "000")[:decimals])
	}
	sign, known := symbols[a.Currency]
	switch {
	case !known:
		return string(a.Currency) + "\u00a0" + b.String()
	case sign == "$":
		return sign + b.String() + "\u00a0" + string(a.Currency)
	}
	return sign + "\u00a0" + b.String()
}

var months = map[string][]string{
	"en": {"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"},
	"es": {"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"},
	"pt": {"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro"},
}

// halves are the countries that use a.m. and p.m.
var halves = []string{"COL", "DOM", "GTM", "HND", "MEX", "NIC", "PAN", "PER", "SLV", "USA", "VEN"}

// clockOf is a time of day in a country's format.
func clockOf(t time.Time, lang, country string) string {
	if !slices.Contains(halves, country) || lang == "pt" {
		return t.Format("15:04")
	}
	half := t.Format("PM")
	if lang == "es" {
		half = map[string]string{"AM": "a.m.", "PM": "p.m."}[half]
	}
	return t.Format("3:04") + "\u00a0" + half
}

// moment writes a time in a country's own zone and a language's format; dated adds the
// year.
func moment(t time.Time, lang, country string, dated bool) string {
	zone := time.UTC
	suffix := " UTC"
	if place, known := places[country]; known {
		if z, err := time.LoadLocation(place.zone); err == nil {
			zone, suffix = z, ""
		}
	}
	t = t.In(zone)
	month, clock := months[lang][t.Month()-1], clockOf(t, lang, country)
	year := ""
	switch lang {
	case "es":
		if dated {
			year = fmt.Sprintf(" de %d", t.Year())
		}
		at := "a las" // one o'clock is singular: "a la 1:05"
		if hour, _, _ := strings.Cut(clock, ":"); hour == "1" || hour == "01" {
			at = "a la"
		}
		return fmt.Sprintf("%d de %s%s %s %s%s", t.Day(), month, year, at, clock, suffix)
	case "pt":
		if dated {
			year = fmt.Sprintf(" de %d", t.Year())
		}
		return fmt.Sprintf("%d de %s%s às %s%s", t.Day(), month, year, clock, suffix)
	}
	if dated {
		year = fmt.Sprintf(", %d", t.Year())
	}
	return fmt.Sprintf("%s %d%s at %s%s", month, t.Day(), year, clock, suffix)
}
