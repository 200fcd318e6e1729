// Package analytics is the dashboard's pages about how payments end: the approval rate, over time and by method,
// country and rail. All numbers come from counters.
package analytics

import (
	"embed"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

//go:embed all:templates text
var files embed.FS

type analytics struct {
	*frame.Site
	room *frame.Room
}

// Register adds the pages to a site.
func Register(site *frame.Site) error {
	room, err := site.Room(files)
	if err != nil {
		return err
	}
	a := &analytics{site, room}
	site.Handle("GET /analytics", tenant.RightRead, a.show)
	site.Handle("GET /analytics/days.csv", tenant.RightRead, a.days)
	site.Handle("GET /analytics/parts.csv", tenant.RightRead, a.parts)
	return nil
}

// spans are the lengths that the page offers, in days.
var spans = []int{7, 30, 90, 365}

const usualSpan = 30

// view is what the page shows.
type view struct {
	payments.Analysis
	By     payments.Group
	Last   time.Time // the last day of the span
	Ended  frame.Chart
	Rate   frame.Chart
	Groups []payments.Group
	Spans  []int
	Span   int // 0 if the days were chosen
}

// read makes the analysis that the query asks for: days=30, or from and to, which is the last day; by.
func (a *analytics) read(r *http.Request, v *frame.Visit) (view, error) {
	q := r.URL.Query()
	out := view{By: payments.Group(q.Get("by")), Groups: payments.Groups(), Spans: spans}
	if !slices.Contains(out.Groups, out.By) {
		out.By = payments.ByMethod
	}
	from, err := day(q, "from")
	if err != nil {
		return out, err
	}
	last, err := day(q, "to")
	if err != nil {
		return out, err
	}
	today := a.App.TimeOf(v.Scope).UTC().Truncate(24 * time.Hour)
	to := today.AddDate(0, 0, 1)
	if !last.IsZero() {
		to = last.AddDate(0, 0, 1)
	}
	if from.IsZero() {
		out.Span = usualSpan
		for _, n := range spans {
			if q.Get("days") == strconv.Itoa(n) {
				out.Span = n
			}
		}
		from = to.AddDate(0, 0, -out.Span)
	}
	out.Analysis, err = a.App.Payments.Analyse(r.Context(), v.Scope, from, to, out.By)
	out.Last = out.To.AddDate(0, 0, -1)
	return out, err
}

// day reads a day of the query; the zero time is none.
//
// Errors: invalid_request.
func day(q url.Values, name string) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return at, problem.Field(problem.InvalidRequest, name, "write the day as 2026-11-21")
	}
	return at, nil
}

func (a *analytics) show(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	out, err := a.read(r, v)
	if err != nil {
		return err
	}
	out.Ended, out.Rate = a.charts(v, out.Analysis)
	return a.room.Show(w, r, v, "analytics", out)
}

// charts are the payments of each day by how they ended, and the approval rate of each day.
func (a *analytics) charts(v *frame.Visit, an payments.Analysis) (ended, rate frame.Chart) {
	n := len(an.Days)
	series := func(key, tone string, value func(payments.Outcomes) int64) frame.Series {
		s := frame.Series{Name: a.room.Text(v, key), Tone: tone, Values: make([]int64, n)}
		for i, d := range an.Days {
			s.Values[i] = value(d.Outcomes)
		}
		return s
	}
	var times []time.Time
	for _, d := range an.Days {
		times = append(times, d.At)
	}
	ended = frame.Chart{Times: times, Series: []frame.Series{
		series("paid", "good", func(o payments.Outcomes) int64 { return o.Paid }),
		series("declined", "bad", func(o payments.Outcomes) int64 { return o.Declined }),
		series("expired", "quiet", func(o payments.Outcomes) int64 { return o.Expired }),
		series("open", "waiting", func(o payments.Outcomes) int64 { return o.Open }),
	}}
	rate = frame.Chart{Times: times, Unit: "%", Decimals: 1, Series: []frame.Series{
		series("approval", "accent", func(o payments.Outcomes) int64 {
			if o.Decided() == 0 {
				return frame.Gap
			}
			return (o.Paid*1000 + o.Decided()/2) / o.Decided()
		}),
	}}
	return ended, rate
}

// heads are the heads of the columns with outcomes in a file.
func (a *analytics) heads(v *frame.Visit) []string {
	var heads []string
	for _, key := range []string{"payments", "paid", "declined", "expired", "open"} {
		heads = append(heads, a.room.Text(v, key))
	}
	return heads
}

func cells(o payments.Outcomes) []any { return []any{o.All(), o.Paid, o.Declined, o.Expired, o.Open} }

func (a *analytics) days(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	out, err := a.read(r, v)
	if err != nil {
		return err
	}
	file, err := a.NewCSV(w, r, v, "days-"+out.From.Format(time.DateOnly), append([]string{a.room.Text(v, "day")}, a.heads(v)...)...)
	if err != nil {
		return err
	}
	for _, d := range out.Days {
		if err := file.Row(append([]any{d.At.Format(time.DateOnly)}, cells(d.Outcomes)...)...); err != nil {
			return err
		}
	}
	return file.End()
}

func (a *analytics) parts(w http.ResponseWriter, r *http.Request, v *frame.Visit) error {
	out, err := a.read(r, v)
	if err != nil {
		return err
	}
	heads := append([]string{a.room.Text(v, "by_"+string(out.By))}, a.heads(v)...)
	for _, head := range a.heads(v) {
		heads = append(heads, head+" ("+strings.ToLower(a.room.Text(v, "before"))+")")
	}
	file, err := a.NewCSV(w, r, v, string(out.By)+"-"+out.From.Format(time.DateOnly), heads...)
	if err != nil {
		return err
	}
	for _, p := range out.Parts {
		if err := file.Row(append(append([]any{p.Name}, cells(p.Now)...), cells(p.Before)...)...); err != nil {
			return err
		}
	}
	return file.End()
}
