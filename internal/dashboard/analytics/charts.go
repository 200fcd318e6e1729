package analytics

import (
	"time"

	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/dashboard/frame"
)

// charts are the payments of each day by how they ended, the approval rate, and the volume of each day.
func (a *analytics) charts(v *frame.Visit, out *view) {
	days := out.Analysis.Days
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
