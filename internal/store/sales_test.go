package store_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/analytics"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/store"
)

// What a shop sold on a day is what a check of each payment finds, also on days that are rolled up.
func TestSalesOfDaysAgreeWithTheirPayments(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		all := fill(t, s, rand.New(rand.NewPCG(5, 6)))
		addUp(t, s)
		first := time.Date(2026, 11, 18, 0, 0, 0, 0, time.UTC)
		for from := range 5 {
			for to := from + 1; to <= 6; to++ {
				span := lists.Span{From: first.AddDate(0, 0, from), To: first.AddDate(0, 0, to)}
				want, got := map[lists.DayCount]int64{}, map[lists.DayCount]int64{}
				var cents, paid int64
				for _, p := range all {
					if p.Times.Created.Before(span.From) || !p.Times.Created.Before(span.To) || p.Status == pay.Processing {
						continue
					}
					want[lists.DayCount{Day: p.Times.Created.UTC().Truncate(24 * time.Hour), Status: p.Status}]++
					if p.Status == pay.Completed || p.Status == pay.Refunded || p.Status == pay.Chargeback {
						cents, paid = cents+p.Price.Amount.Minor, paid+1
					}
				}
				days, err := s.Payments().Days(ctx, acme, span.From, span.To)
				must(t, err)
				for _, c := range days {
					if c.N != 0 { // a status that was left keeps its counter
						got[lists.DayCount{Day: c.Day, Status: c.Status}] = c.N
					}
				}
				if len(got) != len(want) {
					t.Fatalf("%v: counted %v, want %v", span, got, want)
				}
				for k, n := range want {
					if got[k] != n {
						t.Fatalf("%v: %v has %d, want %d", span, k, got[k], n)
					}
				}
				totals, err := s.Rollups().Days(ctx, acme.Shop, acme.Live, span.From, span.To)
				must(t, err)
				for _, sum := range totals {
					if sum.Outcome == analytics.Paid {
						cents, paid = cents-sum.Amount, paid-sum.N
					}
				}
				if cents != 0 || paid != 0 {
					t.Fatalf("%v: the totals lack %d payments of %d cents", span, paid, cents)
				}
			}
		}
		other := acme
		other.Shop = "shp_other"
		if days, err := s.Payments().Days(ctx, other, first, first.AddDate(0, 0, 9)); err != nil || len(days) > 0 {
			t.Errorf("another shop has %v %v", days, err)
		}
		for _, p := range all {
			transfers, err := s.Books().About(ctx, acme, p.ID)
			must(t, err)
			if captured := !p.Times.Completed.IsZero(); captured != (len(transfers) == 1) {
				t.Errorf("%s is %s and has %d transfers", p.ID, p.Status, len(transfers))
			}
			other := acme
			other.Live = !other.Live
			if transfers, err := s.Books().About(ctx, other, p.ID); err != nil || len(transfers) > 0 {
				t.Errorf("the other environment reads %d transfers of %s (%v)", len(transfers), p.ID, err)
			}
			if list, err := s.Deliveries().About(ctx, acme, p.ID, 10); err != nil || len(list) > 0 {
				t.Errorf("%s has %d deliveries (%v), and no shop has an endpoint", p.ID, len(list), err)
			}
		}
	})
}
