package payments

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
)

// Group is what analytics tell apart.
type Group string

// The groups.
const (
	ByMethod  Group = "method"
	ByCountry Group = "country"
	ByRail    Group = "rail"
)

// Groups lists them.
func Groups() []Group { return []Group{ByMethod, ByCountry, ByRail} }

// Analysis is how a shop's payments ended in a span of days, and in the span of the same length before it. Days
// are UTC, and a payment belongs to the day on which it was created.
type Analysis struct {
	From, To time.Time // the first day, and the day after the last one
	Days     []Day     // oldest first, without gaps
	Now      Outcomes
	Before   Outcomes
	Parts    []Part // those with most payments first
}

// Day is how the payments of one day ended.
type Day struct {
	At time.Time
	Outcomes
}

// Part is a method, a country or a rail.
type Part struct {
	Name        string
	Now, Before Outcomes
}

// MostDays is the longest span that is analysed.
const MostDays = 366

// Analyse reads how the shop's payments ended, from counters.
//
// Errors: invalid_request for a span that is empty or too long.
func (in *Payments) Analyse(ctx context.Context, scope tenant.Scope, from, to time.Time, by Group) (a Analysis, err error) {
	from, to = from.UTC().Truncate(24*time.Hour), to.UTC().Truncate(24*time.Hour)
	days := int(to.Sub(from) / (24 * time.Hour))
	switch {
	case days < 1:
		return a, problem.Field(problem.InvalidRequest, "from", "the first day must be before the last one")
	case days > MostDays:
		return a, problem.Field(problem.InvalidRequest, "from", "the span has at most 366 days: choose a later first day")
	}
	counts, err := in.Store.Payments.Kinds(ctx, scope, from.AddDate(0, 0, -days), to)
	if err != nil {
		return a, err
	}
	a.From, a.To, a.Days = from, to, make([]Day, days)
	for i := range a.Days {
		a.Days[i].At = from.AddDate(0, 0, i)
	}
	parts := map[string]*Part{}
	for _, c := range counts {
		name := map[Group]string{ByMethod: c.Method, ByCountry: c.Country, ByRail: c.Rail}[by]
		part := parts[name]
		if part == nil {
			part = &Part{Name: name}
			parts[name] = part
		}
		if c.Day.Before(from) {
			a.Before, part.Before = a.Before.plus(c.Status, c.N), part.Before.plus(c.Status, c.N)
			continue
		}
		a.Now, part.Now = a.Now.plus(c.Status, c.N), part.Now.plus(c.Status, c.N)
		day := &a.Days[int(c.Day.Sub(from)/(24*time.Hour))]
		day.Outcomes = day.Outcomes.plus(c.Status, c.N)
	}
	for _, part := range parts {
		a.Parts = append(a.Parts, *part)
	}
	slices.SortFunc(a.Parts, func(x, y Part) int {
		if n := y.Now.All() - x.Now.All(); n != 0 {
			return int(n)
		}
		return strings.Compare(x.Name, y.Name)
	})
	return a, nil
}

// Outcomes counts payments by how they ended.
type Outcomes struct {
	Paid     int64 // also if the money went back later
	Declined int64 // also if the shop canceled it
	Expired  int64
	Open     int64
}

// Decided is how many payments a provider or an issuer has decided: those that expired nobody tried to pay.
func (o Outcomes) Decided() int64 { return o.Paid + o.Declined }

// All is the number of payments.
func (o Outcomes) All() int64 { return o.Paid + o.Declined + o.Expired + o.Open }

func (o Outcomes) plus(s pay.Status, n int64) Outcomes {
	switch s {
	case pay.Completed, pay.Refunded, pay.Chargeback:
		o.Paid += n
	case pay.Failed:
		o.Declined += n
	case pay.Expired:
		o.Expired += n
	case pay.Pending, pay.Processing:
		o.Open += n
	}
	return o
}
