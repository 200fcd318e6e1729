package analytics

import (
	"time"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
)

// mostPoints is the most days that a chart shows; if there are more, it shows weeks. More points are hard to
// read, and their table is long.
const mostPoints = 120

// points are the days, or if there are many the weeks, each at its first day.
func points(days []payments.Day) (list []payments.Day, weekly bool) {
	if len(days) <= mostPoints {
		return days, false
	}
	for i, d := range days {
		if i%7 == 0 {
			list = append(list, payments.Day{At: d.At})
		}
		last := &list[len(list)-1]
		last.Outcomes = last.Outcomes.Plus(d.Outcomes)
	}
	return list, true
}

// charts are the payments of each day or week by how they ended, their approval rate and their volume.
func (a *analytics) charts(v *frame.Visit, out *view) {
	days, weekly := points(out.Analysis.Days)
	out.Weekly = weekly
	series := func(key, tone string, value func(payments.Outcomes) int64) frame.Series {
		s := frame.Series{Name: a.room.Text(v, key), Tone: tone, Values: make([]int64, len(days))}
		for i, d := range days {
			s.Values[i] = value(d.Outcomes)
		}
		return s
	}
	var times []time.Time
	for _, d := range days {
		times = append(times, d.At)
	}
	out.Ended = frame.Chart{Times: times, Series: []frame.Series{
		series("paid", "good", func(o payments.Outcomes) int64 { return o.Paid }),
		series("declined", "bad", func(o payments.Outcomes) int64 { return o.Declined }),
		series("abandoned", "accent", func(o payments.Outcomes) int64 { return o.Abandoned }),
		series("expired", "quiet", func(o payments.Outcomes) int64 { return o.Expired }),
	}}
	if !out.All {
		out.Ended.Series = append(out.Ended.Series, series("open", "waiting", func(o payments.Outcomes) int64 { return o.Open }))
	}
	out.Rate = frame.Chart{Times: times, Unit: "%", Decimals: 1, Series: []frame.Series{
		series("approval", "accent", func(o payments.Outcomes) int64 {
			if o.Decided() == 0 {
				return frame.Gap
			}
			return (o.Paid*1000 + o.Decided()/2) / o.Decided()
		}),
	}}
	out.Volume = frame.Chart{Times: times, Unit: "USD", Decimals: 2, Series: []frame.Series{
		series("volume", "accent", func(o payments.Outcomes) int64 { return o.Volume }),
		series("fees", "waiting", func(o payments.Outcomes) int64 { return o.Fees }),
	}}
}
