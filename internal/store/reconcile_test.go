package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/comparison"
	"github.com/cascadapay/cascada/internal/store"
)

// Bookings are read page by page in the order of time, even if many are of the same moment.
func TestBookingsAreReadOncePageByPage(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		moments := []int{0, 1, 1, 1, 1, 2, 3}
		for i, after := range moments {
			p := stored(t, s, fmt.Sprint("P", i))
			_, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, noon.Add(time.Duration(after)*time.Second))
			must(t, s.Commit(ctx, payload(change)))
		}
		for _, limit := range []int{1, 2, 3, 100} {
			var got []string
			from, after := noon.Add(time.Second), ""
			for {
				page, err := s.Books().Bookings(ctx, acme.Merchant, false, ledger.Capture, from, noon.Add(3*time.Second), after, limit)
				must(t, err)
				for _, b := range page {
					got = append(got, b.Payment)
					from, after = b.At, b.ID
				}
				if len(page) < limit {
					break
				}
			}
			if want := []string{"TXN-P1", "TXN-P2", "TXN-P3", "TXN-P4", "TXN-P5"}; !slices.Equal(got, want) {
				t.Errorf("%d at a time: %v, want %v", limit, got, want)
			}
		}
		list, err := s.Payments().ByID(ctx, []string{"TXN-P1", "TXN-P6", "TXN-NOBODY"})
		must(t, err)
		if len(list) != 2 {
			t.Errorf("found %v", list)
		}
		if merchants, err := s.Books().Booked(ctx, false, "", 10); err != nil || !slices.Equal(merchants, []string{acme.Merchant}) {
			t.Errorf("booked are %v (%v)", merchants, err)
		}
		if merchants, err := s.Books().Booked(ctx, false, acme.Merchant, 10); err != nil || len(merchants) != 0 {
			t.Errorf("after the last there are %v (%v)", merchants, err)
		}
	})
}

// A drift stays open until a comparison covers its period, and keeps the day on which it
// was first found.
func TestDriftIsOpenUntilItsPeriodIsCompared(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		run := func(n, day, days int, found map[string]comparison.Drift) {
			t.Helper()
			open, err := s.Reconciliations().OpenDrifts(ctx, "bank")
			must(t, err)
			r := comparison.Result{ID: fmt.Sprint("rec_", n), Account: "bank", From: noon.AddDate(0, 0, day), To: noon.AddDate(0, 0, day+days),
				At: noon.AddDate(0, 1, n), By: "ana@desk"}
			for _, d := range found {
				r.Count += d.Findings
			}
			must(t, s.Commit(ctx, pay.Change{Reconciliations: []comparison.Result{r}, Drifts: r.Drifts(open, found)}))
		}
		expect := func(when string, count, usd int64, day int) {
			t.Helper()
			d, err := s.Reconciliations().Drift(ctx, acme)
			must(t, err)
			want := store.Drifted{Count: count, USD: usd}
			if count > 0 {
				want.Since = noon.AddDate(0, 1, day)
			}
			if d != want {
				t.Errorf("%s: %+v, want %+v", when, d, want)
			}
		}
		acmes := func(n int, usd int64) map[string]comparison.Drift {
			return map[string]comparison.Drift{acme.Merchant: {Findings: n, USD: usd}}
		}
		expect("at first", 0, 0, 0)
		run(1, 0, 7, acmes(2, 500))
		run(2, 7, 7, acmes(1, 100))
		expect("after two weeks", 3, 600, 1)
		run(3, 0, 6, nil)
		expect("after a clean part of the first", 3, 600, 1)
		run(4, 0, 7, acmes(1, 200))
		expect("after the first once more", 2, 300, 1)
		run(5, 7, 7, nil)
		expect("after the second is clean", 1, 200, 1)
		run(6, 0, 31, nil)
		expect("after a clean month", 0, 0, 0)
		list, err := s.Reconciliations().List(ctx, "bank", "", 2)
		must(t, err)
		if len(list) != 2 || list[0].ID != "rec_6" || list[1].ID != "rec_5" || !list[0].To.Equal(noon.AddDate(0, 0, 31)) {
			t.Errorf("the last two are %+v", list)
		}
	})
}
