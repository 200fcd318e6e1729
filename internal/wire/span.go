package wire

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/danielgtaylor/huma/v2"
)

// Span is the span of time in a query string.
type Span struct {
	From string `query:"from" doc:"Created at this time or later: a date or a date-time, in UTC if it names no zone"`
	To   string `query:"to" doc:"Created before this time"`
	span lists.Span
}

// Resolve reads the span. A type that embeds this one and has its own Resolve calls it.
func (s *Span) Resolve(huma.Context) (issues []error) {
	s.span, issues = Between(s.From, s.To)
	return issues
}

// Time is the parsed span.
func (s *Span) Time() lists.Span { return s.span }

// Between reads the bounds of a span, which may be absent. from must not be after to.
func Between(from, to string) (span lists.Span, issues []error) {
	var read []time.Time
	for _, bound := range []struct {
		param, text string
		into        *time.Time
	}{{"from", from, &span.From}, {"to", to, &span.To}} {
		if bound.text == "" {
			continue
		}
		at, ok := moment(bound.text)
		if !ok {
			issues = append(issues, Coded(problem.InvalidRequest, bound.param, unread(bound.param, bound.text)))
			continue
		}
		read = append(read, at)
		if *bound.into = at; at.Unix() < 0 { // also the zero time, which means none
			*bound.into = time.Unix(0, 0)
		}
	}
	if len(read) == 2 && read[0].After(read[1]) {
		issues = append(issues, Coded(problem.InvalidRequest, "from", "from must not be later than to: nothing is in that time; send an earlier from, or a later to"))
	}
	return span, issues
}

// unread says how a time that cannot be read has to be written.
func unread(param, text string) string {
	message := param + " must be an ISO 8601 date or date-time, such as 2026-11-21 or 2026-11-21T13:00:00Z, not " + strconv.Quote(clip(text))
	if strings.ContainsAny(text, " +") {
		message += "; in an address, write the + of a time zone as %2B: 2026-11-21T13:00:00%2B03:00"
	}
	return message
}

// moment reads a date or a date-time; without a zone it is UTC. The plus of a zone that was not escaped in an address arrives as
// a space: nothing else can be meant by it there.
func moment(text string) (time.Time, bool) {
	text = lostPlus.ReplaceAllString(text, "$1+$2")
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999",
		"2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700", "2006-01-02T15:04", "2006-01-02",
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// lostPlus is a time whose zone has lost its plus.
var lostPlus = regexp.MustCompile(`^(\d{4}-\d\d-\d\dT\d\d:\d\d[\d:.]*) (\d\d:?\d\d)$`)
