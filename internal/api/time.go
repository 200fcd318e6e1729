package api

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/wire"
)

// between reads the bounds of a list, which may be absent.
func between(from, to string, intoFrom, intoTo *time.Time) (issues []error) {
	for _, bound := range []struct {
		param, text string
		into        *time.Time
	}{{"from", from, intoFrom}, {"to", to, intoTo}} {
		if bound.text == "" {
			continue
		}
		at, ok := moment(bound.text)
		if !ok {
			issues = append(issues, wire.Coded(pay.CodeInvalidRequest, bound.param, dateIssue(bound.param)))
			continue
		}
		if *bound.into = at; at.Unix() < 0 { // also the zero time, which is none
			*bound.into = time.Unix(0, 0)
		}
	}
	return issues
}

// moment reads a date or a date-time, in UTC where no zone is given.
func moment(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
