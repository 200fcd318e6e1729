package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/money"
)

// AtMost is an upper limit, such as the number of rows in a list. It is at least 1.
type AtMost int

// Validate is called by kong.
func (a AtMost) Validate() error {
	if a < 1 {
		return errors.New("want at least 1")
	}
	return nil
}

// TimeForm is the layout of times that programs read too.
const TimeForm = "2006-01-02T15:04:05Z"

// USD writes an amount in cents for people.
func USD(cents int64) string { return money.New(cents, money.USD).String() }

// Moment writes a time for people, to the minute.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }

// Instant parses a day or a time; an empty text is the zero time.
func Instant(flag, text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{"2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04:05", time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%s %q: want a day such as 2026-11-30, or a time such as 2026-11-30T15:04:05Z", flag, text)
}

// When parses a moment: a duration before now, a day or a time.
func When(text string, now time.Time) (time.Time, error) {
	days, isDays := strings.CutSuffix(text, "d")
	if n, err := strconv.Atoi(days); err == nil && isDays && n > 0 {
		return now.AddDate(0, 0, -n), nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	for _, form := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(form, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: want 24h, 7d, 2026-11-21 or 2026-11-21T15:00:00Z, for example", text)
}

// Content reads a file, or the standard input for "-".
func Content(path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(path)
}
