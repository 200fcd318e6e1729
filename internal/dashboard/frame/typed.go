package frame

import (
	"net/http"
	"slices"
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

// Typed reads an amount that somebody typed in the language of the page (money.Typed).
func Typed(lang merchants.Language, text string, c money.Currency) (a money.Amount, ok bool) {
	thousands, _ := marks(string(lang))
	return money.Typed(thousands, text, c)
}

// OneOf is a value of a filter, if it is one of those that there are, or "".
//
// Errors: invalid_request.
func OneOf[T ~string](r *http.Request, name string, all []T) (T, error) {
	value := T(r.FormValue(name))
	if value != "" && !slices.Contains(all, value) {
		return "", problem.Field(problem.InvalidRequest, name, unknownFilter)
	}
	return value, nil
}
