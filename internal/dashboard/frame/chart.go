package frame

import (
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"
)

// Chart is numbers over time, which the part chart draws and shows as a table.
type Chart struct {
	Kind     string      // line, area or bars; "" is line
	Times    []time.Time // of the points, oldest first
	ByHour   bool        // points are hours, not days
	Series   []Series
	Decimals int    // of the values: 2 if they are cents
	Unit     string // USD, %
}

// Series is one line of a chart.
type Series struct {
	Name   string
	Values []int64 // one for each time, in units of 10^-Decimals; Gap where there is none
	Tone   string  // accent, good, bad, waiting, quiet; "" is the next one
}

// Gap is the value of a point that has none.
const Gap = math.MinInt64

// JSON is the chart for the script.
func (c Chart) JSON() (string, error) {
	type series struct {
		Name   string   `json:"name"`
		Tone   string   `json:"tone"`
		Values []*int64 `json:"values"`
	}
	order := []string{"accent", "good", "waiting", "bad", "quiet"}
	all := struct {
		Kind     string   `json:"kind"`
		Times    []int64  `json:"times"`
		ByHour   bool     `json:"hours"`
		Decimals int      `json:"decimals"`
		Unit     string   `json:"unit"`
		Series   []series `json:"series"`
	}{c.Kind, []int64{}, c.ByHour, c.Decimals, c.Unit, []series{}}
	for _, t := range c.Times {
		all.Times = append(all.Times, t.Unix())
	}
	for i, s := range c.Series {
		if len(s.Values) != len(c.Times) {
			return "", fmt.Errorf("the chart's series %q has %d values for %d times", s.Name, len(s.Values), len(c.Times))
		}
		one := series{s.Name, s.Tone, make([]*int64, len(s.Values))}
		if one.Tone == "" {
			one.Tone = order[i%len(order)]
		}
		for j := range s.Values {
			if s.Values[j] != Gap {
				one.Values[j] = &s.Values[j]
			}
		}
		all.Series = append(all.Series, one)
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// ChartRow is a row of a chart's table.
type ChartRow struct {
	Time   template.HTML
	Values []string
}

// Rows are the chart's numbers for its table, newest first.
func (c Chart) Rows(p *Page) []ChartRow {
	var rows []ChartRow
	for i := len(c.Times) - 1; i >= 0; i-- {
		row := ChartRow{Time: p.Date(c.Times[i])}
		if c.ByHour {
			row.Time = p.Time(c.Times[i])
		}
		for _, s := range c.Series {
			text := none
			if i < len(s.Values) && s.Values[i] != Gap {
				text = decimal(p.lang, s.Values[i], c.Decimals)
				switch {
				case c.Unit == "%":
					text += "%"
				case c.Unit != "":
					text += "\u00a0" + c.Unit
				}
			}
			row.Values = append(row.Values, text)
		}
		rows = append(rows, row)
	}
	return rows
}

// Spark is the points of a small line without axes, 100 wide and 28 high.
func Spark(values []int64) string {
	if len(values) < 2 {
		return ""
	}
	least, most := values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	var b strings.Builder
	for i, v := range values {
		y := 14.0
		if most > least {
			y = 26 - 24*float64(v-least)/float64(most-least)
		}
		fmt.Fprintf(&b, "%.1f,%.1f ", 100*float64(i)/float64(len(values)-1), y)
	}
	return strings.TrimSpace(b.String())
}
