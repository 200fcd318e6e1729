package frame

import (
	"net/http"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Day reads a day in UTC that somebody chose or typed. It returns the zero time if the field is empty.
//
// Errors: invalid_request.
func Day(r *http.Request, field string) (time.Time, error) {
	text := strings.TrimSpace(r.FormValue(field))
	if text == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, problem.Field(problem.InvalidRequest, field, dayUnreadable)
	}
	if day.Unix() < 0 { // also the zero time, which means none
		day = time.Unix(0, 0).UTC()
	}
	return day, nil
}

// Days reads the days from and to of a list's filters, in UTC. The span contains the last day.
//
// Errors: invalid_request.
func Days(r *http.Request) (span lists.Span, err error) {
	if span.From, err = Day(r, "from"); err != nil {
		return span, err
	}
	if span.To, err = Day(r, "to"); err != nil || span.To.IsZero() {
		return span, err
	}
	if span.From.After(span.To) {
		return span, problem.Field(problem.InvalidRequest, "from", base.DaysBackwards)
	}
	span.To = span.To.AddDate(0, 0, 1)
	return span, nil
}

// Typed reads an amount that somebody typed. People write the decimals after a comma or a point, and may separate
// thousands by the other one or by spaces. A single mark before exactly three digits separates thousands where the
// language writes them so. ok is false for what is no amount above zero, and for what can be read in two ways: such
// as 1.000 in English, or a mark too many.
func Typed(lang merchants.Language, text string, c money.Currency) (a money.Amount, ok bool) {
	text = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "'", " ", "\u2019", " ").Replace(strings.TrimSpace(text))
	if text == "" || strings.Trim(text, "0123456789., ") != "" || !c.Valid() {
		return a, false
	}
	whole, decimals, group := text, "", ""
	points, commas := strings.Count(text, "."), strings.Count(text, ",")
	switch {
	case points+commas == 0:
	case points > 0 && commas > 0:
		at := strings.LastIndexAny(text, ".,")
		whole, decimals, group = text[:at], text[at:], map[byte]string{'.': ",", ',': "."}[text[at]]
	case points+commas > 1:
		group = text[strings.IndexAny(text, ".,"):][:1]
	default:
		at := strings.IndexAny(text, ".,")
		thousands, _ := marks(string(lang))
		three := len(text)-at == len(".000")
		switch {
		case three && text[at:at+1] == thousands:
			group = thousands
		case three && c.Exponent() < 3:
			return a, false
		default:
			whole, decimals = text[:at], text[at:]
		}
	}
	if strings.Contains(whole, " ") {
		if group != "" {
			return a, false
		}
		group = " "
	}
	if group != "" {
		parts := strings.Split(whole, group)
		for i, part := range parts {
			if i == 0 && (part == "" || len(part) > 3) || i > 0 && len(part) != 3 {
				return a, false
			}
		}
		whole = strings.Join(parts, "")
	}
	if decimals != "" {
		whole += "." + decimals[1:]
	}
	a, err := money.Parse(whole, c) // refuses a mark or a space that is left
	return a, err == nil && a.IsPositive()
}
