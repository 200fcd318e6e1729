package api

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/wire"
)

// between reads the bounds of a list, which may be absent. No time is from later than to.
func between(from, to string, intoFrom, intoTo *time.Time) (issues []error) {
	var read []time.Time
	for _, bound := range []struct {
		param, text string
		into        *time.Time
	}{{"from", from, intoFrom}, {"to", to, intoTo}} {
		if bound.text == "" {
			continue
		}
		at, ok := moment(bound.text)
		if !ok {
			issues = append(issues, wire.Coded(problem.InvalidRequest, bound.param, dateIssue(bound.param)))
			continue
		}
		read = append(read, at)
		if *bound.into = at; at.Unix() < 0 { // also the zero time, which is none
			*bound.into = time.Unix(0, 0)
		}
	}
	if len(read) == 2 && read[0].After(read[1]) {
		issues = append(issues, wire.Coded(problem.InvalidRequest, "from", "from must not be later than to: nothing is in that time; send an earlier from, or a later to"))
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
