package payments

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/pay/analytics"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// Funnel is how far shoppers got in checkouts that began in a span of days, and in the days before.
type Funnel struct {
	From, To time.Time
	Steps    []FunnelStep
	Partial  bool // a recount is under way: not all payments are counted
}

// FunnelStep is how many checkouts reached a step.
type FunnelStep struct {
	Step        analytics.Step
	Now, Before int64
}

// Funnel reads how far the shop's checkouts got.
//
// Errors: invalid_request for a span that is empty or too long.
func (an *Analytics) Funnel(ctx context.Context, scope merchants.Scope, from, to time.Time) (f Funnel, err error) {
	first, begin, end, err := span(from, to)
	if err != nil {
		return f, err
	}
	f.From, f.To = begin, end
	for _, step := range analytics.Steps() {
		f.Steps = append(f.Steps, FunnelStep{Step: step})
	}
	list, err := an.Store.Rollups().Values(ctx, scope.Shop, scope.Live, analytics.ByStep, first, begin, end)
	if err != nil {
		return f, err
	}
	for _, t := range list {
		i := slices.Index(analytics.Steps(), analytics.Step(t.Value))
		switch {
		case i < 0: // a step of a newer version
		case t.Before:
			f.Steps[i].Before += t.N
		default:
			f.Steps[i].Now += t.N
		}
	}
	f.Partial, err = an.partial(ctx)
	return f, err
}

// Waits is how long shoppers took to pay, on rails where they pay later. It counts paid payments.
type Waits struct {
	From, To time.Time
	Methods  []MethodWaits // those with most payments first
	Partial  bool
}

// MethodWaits is how long the shoppers of a method took.
type MethodWaits struct {
	Method  string
	Paid    int64
	Before  int64   // paid in the days before
	Classes []int64 // paid in each of analytics.WaitClasses
}

// Within is how many were paid in the first classes up to the one with this index.
func (m MethodWaits) Within(class int) (n int64) {
	for _, one := range m.Classes[:class+1] {
		n += one
	}
	return n
}

// Waits reads how long the shop's shoppers took to pay.
//
// Errors: invalid_request for a span that is empty or too long.
func (an *Analytics) Waits(ctx context.Context, scope merchants.Scope, from, to time.Time) (w Waits, err error) {
	first, begin, end, err := span(from, to)
	if err != nil {
		return w, err
	}
	w.From, w.To = begin, end
	list, err := an.Store.Rollups().Values(ctx, scope.Shop, scope.Live, analytics.ByWait, first, begin, end)
	if err != nil {
		return w, err
	}
	classes := analytics.WaitClasses()
	for _, t := range list {
		method, class, _ := strings.Cut(t.Value, "/")
		at := slices.IndexFunc(w.Methods, func(m MethodWaits) bool { return m.Method == method })
		if at < 0 {
			at = len(w.Methods)
			w.Methods = append(w.Methods, MethodWaits{Method: method, Classes: make([]int64, len(classes))})
		}
		m := &w.Methods[at]
		i := slices.IndexFunc(classes, func(c analytics.WaitClass) bool { return c.Name == class })
		switch {
		case t.Before:
			m.Before += t.N
		case i >= 0:
			m.Paid += t.N
			m.Classes[i] += t.N
		}
	}
	slices.SortStableFunc(w.Methods, func(a, b MethodWaits) int { return int(b.Paid - a.Paid) })
	w.Partial, err = an.partial(ctx)
	return w, err
}
