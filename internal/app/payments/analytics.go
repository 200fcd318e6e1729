package payments

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay/analytics"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// Analytics are the use cases that count payments. They read only totals, and no payments.
type Analytics struct{ *base.Base }

// AddUp adds the facts that commits left to the totals. It returns a number above zero if more wait.
func (an *Analytics) AddUp(ctx context.Context) (int, error) {
	more, err := an.Store.Rollups().AddUp(ctx)
	if more {
		return 1, err
	}
	return 0, err
}

// Groups lists the dimensions by which a merchant can group payments.
func Groups() []analytics.Dimension {
	return []analytics.Dimension{analytics.ByMethod, analytics.ByCountry, analytics.ByRail, analytics.ByBand, analytics.ByHour, analytics.ByAnswer, analytics.ByRefusal, analytics.ByTries, analytics.ByInstallments}
}

// OperatorGroups lists those by which an operator can group them too: a merchant never learns which provider took a payment.
func OperatorGroups() []analytics.Dimension {
	return []analytics.Dimension{analytics.ByAccount, analytics.ByRoute, analytics.ByAccountRefusal}
}

// Analysis is how payments ended in a span of days, and in the span of the same length before it. Days
// are UTC, and a payment belongs to the day on which it was created.
type Analysis struct {
	From, To time.Time // the first day, and the day after the last one
	Days     []Day     // oldest first, without gaps
	Now      Outcomes
	Before   Outcomes
	Parts    []Part // those with most payments first; bands and hours in their own order
	// Saved is what was paid although the first account had not accepted it; SavedBefore is the same for the
	// days before.
	Saved, SavedBefore Sum
	// Partial says that a recount is under way: not all payments are counted.
	Partial bool
}

// Day is how the payments of one day ended.
type Day struct {
	At time.Time
	Outcomes
}

// Part is a method, a country or another value of a dimension.
type Part struct {
	Name        string
	Now, Before Outcomes
}

// Sum is a number of payments and their amount in USD cents.
type Sum struct{ N, Amount int64 }

// MostDays is the longest span that is analysed.
const MostDays = 366

// span is the days of an analysis, and where the days before it begin.
func span(from, to time.Time) (first, begin, end time.Time, err error) {
	begin, end = from.UTC().Truncate(24*time.Hour), to.UTC().Truncate(24*time.Hour)
	days := int(end.Sub(begin) / (24 * time.Hour))
	switch {
	case days < 1:
		err = problem.Field(problem.InvalidRequest, "from", base.DaysBackwards)
	case days > MostDays:
		err = problem.Field(problem.InvalidRequest, "from", daysTooMany)
	}
	return begin.AddDate(0, 0, -days), begin, end, err
}

// Analyse reads how the shop's payments ended.
//
// Errors: invalid_request for a span that is empty or too long.
func (an *Analytics) Analyse(ctx context.Context, scope merchants.Scope, from, to time.Time, by analytics.Dimension) (Analysis, error) {
	a, parts, err := an.totals(ctx, scope.Shop, scope.Live, from, to, by)
	if err != nil {
		return a, err
	}
	// Totals have the payments that ended. Those that are still open are in the counters of lists, or in
	// flight.
	first, _, _, _ := span(from, to)
	counts, err := an.Store.Payments().Kinds(ctx, scope, first, a.To)
	if err != nil {
		return a, err
	}
	for _, c := range counts {
		if !c.Status.Open() {
			continue
		}
		name, known := map[analytics.Dimension]string{analytics.ByMethod: c.Method, analytics.ByCountry: c.Country, analytics.ByRail: c.Rail}[by]
		part := &Part{}
		if known {
			part = parts.of(name)
		}
		if c.Day.Before(a.From) {
			a.Before.Open += c.N
			part.Before.Open += c.N
			continue
		}
		a.Now.Open += c.N
		part.Now.Open += c.N
		a.Days[int(c.Day.Sub(a.From)/(24*time.Hour))].Open += c.N
	}
	a.Parts = parts.list(by)
	return a, nil
}

// AnalyseAll reads how the payments of all shops ended. It is for the operator. Payments that are still open are not
// in it.
//
// Errors: invalid_request for a span that is empty or too long.
func (an *Analytics) AnalyseAll(ctx context.Context, live bool, from, to time.Time, by analytics.Dimension) (Analysis, error) {
	a, parts, err := an.totals(ctx, analytics.Everyone, live, from, to, by)
	a.Parts = parts.list(by)
	return a, err
}

// totals reads what ended.
func (an *Analytics) totals(ctx context.Context, shop string, live bool, from, to time.Time, by analytics.Dimension) (a Analysis, parts parts, err error) {
	first, begin, end, err := span(from, to)
	if err != nil {
		return a, parts, err
	}
	a.From, a.To, a.Days = begin, end, make([]Day, int(end.Sub(begin)/(24*time.Hour)))
	for i := range a.Days {
		a.Days[i].At = begin.AddDate(0, 0, i)
	}
	days, err := an.Store.Rollups().Days(ctx, shop, live, first, end)
	if err != nil {
		return a, parts, err
	}
	for _, t := range days {
		if t.Day.Before(begin) {
			a.Before.count(t.Outcome, t.Total)
			continue
		}
		a.Now.count(t.Outcome, t.Total)
		a.Days[int(t.Day.Sub(begin)/(24*time.Hour))].count(t.Outcome, t.Total)
	}
	read := func(d analytics.Dimension, each func(value string, before bool, o analytics.Outcome, t analytics.Total)) {
		if err != nil {
			return
		}
		list, failed := an.Store.Rollups().Values(ctx, shop, live, d, first, begin, end)
		for _, t := range list {
			each(t.Value, t.Before, t.Outcome, t.Total)
		}
		err = failed
	}
	read(analytics.ByTries, func(value string, before bool, o analytics.Outcome, t analytics.Total) {
		switch {
		case o != analytics.Paid || value < "2":
		case before:
			a.SavedBefore = Sum{a.SavedBefore.N + t.N, a.SavedBefore.Amount + t.Amount}
		default:
			a.Saved = Sum{a.Saved.N + t.N, a.Saved.Amount + t.Amount}
		}
	})
	read(by, func(value string, before bool, o analytics.Outcome, t analytics.Total) {
		if part := parts.of(value); before {
			part.Before.count(o, t)
		} else {
			part.Now.count(o, t)
		}
	})
	if err == nil {
		a.Partial, err = an.partial(ctx)
	}
	return a, parts, err
}

func (an *Analytics) partial(ctx context.Context) (bool, error) {
	end, err := an.Store.Rollups().RecountEnd(ctx)
	return end != "", err
}

// parts are the parts of an analysis, by name.
type parts map[string]*Part

func (p *parts) of(name string) *Part {
	if *p == nil {
		*p = parts{}
	}
	part := (*p)[name]
	if part == nil {
		part = &Part{Name: name}
		(*p)[name] = part
	}
	return part
}

func (p parts) list(by analytics.Dimension) (list []Part) {
	for _, part := range p {
		list = append(list, *part)
	}
	order := func(x, y Part) int {
		if n := y.Now.All() - x.Now.All(); n != 0 {
			return int(n)
		}
		return strings.Compare(x.Name, y.Name)
	}
	switch by {
	case analytics.ByBand:
		order = func(x, y Part) int {
			return slices.Index(analytics.Bands(), x.Name) - slices.Index(analytics.Bands(), y.Name)
		}
	case analytics.ByInstallments:
		order = func(x, y Part) int { return cmp.Or(len(x.Name)-len(y.Name), strings.Compare(x.Name, y.Name)) }
	case analytics.ByHour, analytics.ByTries:
		order = func(x, y Part) int { return strings.Compare(x.Name, y.Name) }
	}
	slices.SortFunc(list, order)
	return list
}

// Outcomes counts payments by how they ended.
type Outcomes struct {
	Paid      int64 // also if the money went back later
	Declined  int64 // refused, or no provider could take it
	Abandoned int64 // a page was opened and nobody tried, or it was canceled before anybody tried
	Expired   int64
	Open      int64
	Volume    int64 // of those paid, in USD cents
	Fees      int64 // of those paid, in USD cents
	Missed    int64 // of those that ended and were not paid, in USD cents
}

// Decided is how many payments a provider or an issuer has decided: nobody tried to pay those that expired or were abandoned.
func (o Outcomes) Decided() int64 { return o.Paid + o.Declined }

// All is the number of payments.
func (o Outcomes) All() int64 { return o.Paid + o.Declined + o.Abandoned + o.Expired + o.Open }

// Average is the mean amount of a paid payment, in USD cents; 0 if there is none.
func (o Outcomes) Average() int64 {
	if o.Paid == 0 {
		return 0
	}
	return (o.Volume + o.Paid/2) / o.Paid
}

// Plus adds outcomes.
func (o Outcomes) Plus(p Outcomes) Outcomes {
	return Outcomes{
		Paid: o.Paid + p.Paid, Declined: o.Declined + p.Declined, Abandoned: o.Abandoned + p.Abandoned, Expired: o.Expired + p.Expired, Open: o.Open + p.Open,
		Volume: o.Volume + p.Volume, Fees: o.Fees + p.Fees, Missed: o.Missed + p.Missed,
	}
}

// count adds a total.
func (o *Outcomes) count(of analytics.Outcome, t analytics.Total) {
	switch of {
	case analytics.Paid:
		o.Paid, o.Volume, o.Fees = o.Paid+t.N, o.Volume+t.Amount, o.Fees+t.Fees
	case analytics.Declined:
		o.Declined, o.Missed = o.Declined+t.N, o.Missed+t.Amount
	case analytics.Abandoned:
		o.Abandoned, o.Missed = o.Abandoned+t.N, o.Missed+t.Amount
	case analytics.Expired:
		o.Expired, o.Missed = o.Expired+t.N, o.Missed+t.Amount
	}
}
