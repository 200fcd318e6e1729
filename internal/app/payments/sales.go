package payments

import (
	"context"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// LongWait is how long a provider may leave a payment without an answer before somebody should look.
const LongWait = 10 * time.Minute

// Sales is how a shop sells now. Days are UTC, and a payment belongs to the day on which it was created.
type Sales struct {
	Today, Week Outcomes     // Week is today and the six days before; of those that ended, until some seconds ago
	Volume      money.Amount // of the payments of today that were paid
	Open        int64
	Waiting     int64 // of Open: no provider has answered for LongWait
	All         int64 // payments of all days
}

// Sales reads how a shop sells, from counters and totals.
func (pa *Payments) Sales(ctx context.Context, scope merchants.Scope) (s Sales, err error) {
	now := pa.TimeOf(scope).UTC()
	day := now.Truncate(24 * time.Hour)
	first := day.AddDate(0, 0, -6)
	days, err := pa.Store.Payments().Days(ctx, scope, first, day.AddDate(0, 0, 1))
	if err != nil {
		return s, err
	}
	for _, c := range days {
		if !c.Status.Open() {
			continue
		}
		if s.Week.Open += c.N; c.Day.Equal(day) {
			s.Today.Open += c.N
		}
	}
	totals, err := pa.Store.Rollups().Days(ctx, scope.Shop, scope.Live, first, day.AddDate(0, 0, 1))
	if err != nil {
		return s, err
	}
	for _, t := range totals {
		if s.Week.count(t.Outcome, t.Total); t.Day.Equal(day) {
			s.Today.count(t.Outcome, t.Total)
		}
	}
	s.Volume = money.New(s.Today.Volume, money.USD)
	for _, part := range []struct {
		into *int64
		of   lists.PaymentFilter
	}{
		{&s.Open, lists.PaymentFilter{Status: pay.Pending}},
		{&s.Waiting, lists.PaymentFilter{Status: pay.Processing}},
		{&s.All, lists.PaymentFilter{}},
	} {
		if *part.into, err = pa.Store.Payments().Count(ctx, scope, part.of); err != nil {
			return s, err
		}
	}
	s.Open += s.Waiting
	if s.Waiting > 0 {
		s.Waiting, err = pa.Store.Payments().Count(ctx, scope, lists.PaymentFilter{Status: pay.Processing, Span: lists.Span{To: now.Add(-LongWait)}})
	}
	return s, err
}

// Few lists the newest payments that a filter selects. Unlike List it counts nothing.
func (pa *Payments) Few(ctx context.Context, scope merchants.Scope, f lists.PaymentFilter) ([]pay.Payment, error) {
	return pa.Store.Payments().List(ctx, scope, f)
}
