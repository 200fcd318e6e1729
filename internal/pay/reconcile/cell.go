package reconcile

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// most is the largest amount of a line, in minor units: a hundred times the largest payment
// in the smallest currency.
const most = 10_000_000_000_000

var (
	// Digits, in groups of three or in none, then decimals.
	pointed = regexp.MustCompile(`^-?(?:[0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)(?:\.[0-9]+)?$`)
	commaed = regexp.MustCompile(`^-?(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+)(?:,[0-9]+)?$`)
	whole   = regexp.MustCompile(`^-?[0-9]{1,15}$`)
)

// ReadAmount reads an amount in the format, exactly.
//
// Errors: a text that is not such a number, has too many decimals, or is too large.
func (f Format) ReadAmount(text string, c money.Currency) (money.Amount, error) {
	number := strings.TrimPrefix(strings.Map(func(r rune) rune {
		if r == ' ' || r == '\u00a0' || r == '\u202f' {
			return -1
		}
		return r
	}, text), "+")
	form, group, point := pointed, ",", "."
	if f.Comma {
		form, group, point = commaed, ".", ","
	}
	switch {
	case number == "":
		return money.Amount{}, errors.New("it has no amount")
	case f.Minor:
		if !whole.MatchString(number) {
			return money.Amount{}, fmt.Errorf("the amount %q is not in whole minor units", text)
		}
		minor, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return money.Amount{}, fmt.Errorf("the amount %q: %w", text, err)
		}
		return bounded(money.New(minor, c), text)
	case !form.MatchString(number):
		return money.Amount{}, fmt.Errorf("the amount %q is not a number with the decimal sign %q", text, point)
	}
	number = strings.Replace(strings.ReplaceAll(number, group, ""), point, ".", 1)
	sign := ""
	if strings.HasPrefix(number, "-") {
		sign, number = "-", number[1:]
	}
	if number = strings.TrimLeft(number, "0"); number == "" || number[0] == '.' {
		number = "0" + number // some reports write "007.50"
	}
	amount, err := money.Parse(sign+number, c)
	switch {
	case errors.Is(err, money.ErrPrecision):
		return amount, fmt.Errorf("the amount %q in %s has %w", text, c, money.ErrPrecision)
	case err != nil:
		return amount, fmt.Errorf("the amount %q is out of range", text)
	}
	return bounded(amount, text)
}

func bounded(a money.Amount, text string) (money.Amount, error) {
	if a.Minor > most || a.Minor < -most {
		return a, fmt.Errorf("the amount %q is out of range", text)
	}
	return a, nil
}

// Date formats that are not ambiguous.
var (
	moments = []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999-0700", "2006-01-02 15:04:05 -0700 MST", "2006-01-02 15:04:05Z07:00",
		"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02 15:04",
	}
	days = []string{"2006-01-02", "20060102", "2006/01/02"}
)

// ReadDate reads a date in the format; day reports that it is a whole day. An empty text is
// the zero time.
//
// Errors: a text that is not a date in a known form.
func (f Format) ReadDate(text string) (at time.Time, day bool, err error) {
	zone := f.Zone
	if zone == nil {
		zone = time.UTC
	}
	if text == "" {
		return at, false, nil
	}
	for _, layout := range f.Dates {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at.UTC(), !strings.Contains(layout, "15"), nil
		}
	}
	for _, layout := range moments {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at.UTC(), false, nil
		}
	}
	for _, layout := range days {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at.UTC(), true, nil
		}
	}
	return at, false, fmt.Errorf("the date %q is not understood: say how dates are written", text)
}

// Layout turns DD/MM/YYYY hh:mm:ss into a layout of time.Parse.
//
// Errors: a form without a year, a month and a day.
func Layout(form string) (string, error) {
	for _, part := range []string{"YYYY", "MM", "DD"} {
		if strings.Count(form, part) != 1 {
			return "", fmt.Errorf("%q: want YYYY, MM and DD, and hh, mm, ss if there is a time", form)
		}
	}
	return strings.NewReplacer("YYYY", "2006", "MM", "01", "DD", "02", "hh", "15", "mm", "04", "ss", "05").Replace(form), nil
}

// Sums are amounts in minor units by currency.
type Sums map[money.Currency]int64

// add stops at the largest number, because a report is untrusted input.
func (s Sums) add(a money.Amount) {
	if have := s[a.Currency]; a.Minor > math.MaxInt64-have {
		s[a.Currency] = math.MaxInt64
		return
	}
	s[a.Currency] += a.Minor
}
