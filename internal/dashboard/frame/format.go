package frame

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// none is shown where there is no value.
const none = "–"

// marks are the separators of thousands and of decimals in a language.
func marks(lang string) (group, point string) {
	if lang == "en" {
		return ",", "."
	}
	return ".", ","
}

// grouped writes a whole number.
func grouped(lang string, n int64) string {
	group, _ := marks(lang)
	digits, minus := strconv.FormatInt(n, 10), ""
	if n < 0 {
		digits, minus = digits[1:], "−"
	}
	var b strings.Builder
	b.WriteString(minus)
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteString(group)
		}
		b.WriteRune(digit)
	}
	return b.String()
}

// decimal writes a number of minor units with a number of decimals.
func decimal(lang string, minor int64, places int) string {
	if places == 0 {
		return grouped(lang, minor)
	}
	unit := int64(1)
	for range places {
		unit *= 10
	}
	_, point := marks(lang)
	rest, minus := minor%unit, ""
	if rest < 0 {
		rest = -rest
	}
	if minor < 0 && minor/unit == 0 { // the whole part is 0, which has no sign
		minus = "−"
	}
	return minus + grouped(lang, minor/unit) + point + fmt.Sprintf("%0*d", places, rest)
}

// moneyText is an amount with its currency's code.
func moneyText(lang string, a money.Amount) string {
	if !a.Currency.Valid() {
		return none
	}
	return decimal(lang, a.Minor, a.Currency.Exponent()) + "\u00a0" + string(a.Currency)
}

// rateText is a rate with all its decimals.
func rateText(lang string, r money.Rate) string {
	_, point := marks(lang)
	return strings.Replace(r.Decimal(), ".", point, 1)
}

func moneyHTML(lang string, a money.Amount) template.HTML {
	number, code, found := strings.Cut(moneyText(lang, a), "\u00a0")
	if !found {
		return none
	}
	return template.HTML(`<span class="num">` + number + "\u00a0" + `<span class="cur">` + code + `</span></span>`) //nolint:gosec // digits and a known code
}

// percent is part of whole with one decimal. It never rounds to 100 % what is less, nor to 0 % what is more.
func percent(lang string, part, whole int64) string {
	if whole == 0 {
		return none
	}
	tenths := (part*1000 + whole/2) / whole
	if part < whole && tenths >= 1000 {
		tenths = 999
	}
	if part > 0 && tenths == 0 {
		tenths = 1
	}
	if tenths == 1000 || tenths == 0 {
		return percentText(lang, tenths/10, 0)
	}
	return percentText(lang, tenths, 1)
}

// percentText writes a percentage that has so many decimals.
func percentText(lang string, n int64, places int) string {
	text := decimal(lang, n, places)
	if lang == "es" {
		return text + "\u00a0%"
	}
	return text + "%"
}

// Share writes a share in basis points exactly: 1.2%, 0.05%.
func Share(lang merchants.Language, bps int64) string {
	switch {
	case bps%100 == 0:
		return percentText(string(lang), bps/100, 0)
	case bps%10 == 0:
		return percentText(string(lang), bps/10, 1)
	}
	return percentText(string(lang), bps, 2)
}

var months = map[string][12]string{
	"en": {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"},
	"es": {"ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sep", "oct", "nov", "dic"},
	"pt": {"jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez"},
}

// dateText is a day.
func dateText(lang string, t time.Time) string {
	t = t.UTC()
	return fmt.Sprintf("%d %s %d", t.Day(), months[lang][t.Month()-1], t.Year())
}

// timeText is a moment, to the minute.
func timeText(lang string, t time.Time) string {
	return dateText(lang, t) + ", " + t.UTC().Format("15:04") + "\u00a0UTC"
}

// timed is a <time> element; the script adds the local time as its title, if it is a moment.
func timed(at, text string) template.HTML {
	return template.HTML(`<time datetime="` + at + `">` + template.HTMLEscapeString(text) + `</time>`) //nolint:gosec // escaped
}

func timeHTML(lang string, t time.Time) template.HTML {
	if t.IsZero() {
		return none
	}
	return timed(t.UTC().Format(time.RFC3339), timeText(lang, t))
}

// span is a length of time in its largest unit: its text is time_<unit>_one or time_<unit>_many.
func span(d time.Duration) (unit string, n int64) {
	for _, u := range []struct {
		name string
		is   time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		if d >= u.is {
			return u.name, int64(d / u.is)
		}
	}
	return "now", 0
}
