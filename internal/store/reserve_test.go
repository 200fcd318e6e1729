package store_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/check"
)

// heldDay writes a payment whose capture is settled, and returns it with the reserve of its
// day.
func heldDay(t *testing.T, s *store.Store, ids ...string) ([]pay.Payment, pay.Reserve) {
	t.Helper()
	var captures []pay.Unsettled
	var list []pay.Payment
	for _, id := range ids {
		capture := captured(t, s, id)
		p, err := s.Payments().Any(ctx, capture.Payment)
		must(t, err)
		captures, list = append(captures, capture), append(list, p)
	}
	batch := firstBatch(t, s)
	have, err := s.Books().Balances(ctx, books)
	must(t, err)
	gathered, lines := batch.Gather(captures, done)
	_, change := gathered.Close(lines, nil, have, pay.Audience{Shops: []merchants.Shop{{ID: acme.Shop}}}, noon.Add(time.Hour))
	must(t, s.Commit(ctx, payload(change)))
	return list, day(t, s, list[0])
}

// day reads the reserve that holds a part of a payment.
func day(t *testing.T, s *store.Store, p pay.Payment) pay.Reserve {
	t.Helper()
	found, err := s.Reserves().ByID(ctx, []string{pay.ReserveOf(p)})
	must(t, err)
	return found[pay.ReserveOf(p)]
}

// release releases the rest of a closed day's reserve.
func release(t *testing.T, s *store.Store, r pay.Reserve, now time.Time) {
	t.Helper()
	given, err := s.Reserves().GivenBack(ctx, r, r.Day)
	must(t, err)
	have, err := s.Books().Balances(ctx, books)
	must(t, err)
	must(t, s.Commit(ctx, r.Release(given, have, now)))
}

// A refund whose commit is delayed until the day's reserve is released no longer draws on
// it: it would take other days' reserves, or more than there is.
func TestStalledRefundDoesNotDrawOnAReleasedReserve(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		payments, held := heldDay(t, s, "A", "B")
		later := held.ReleaseAt.Add(time.Second)
		p, _, stalled := refund(t, s, payments[0], "CLM-1", 5000)
		_, _, quick := refund(t, s, payments[1], "CLM-2", 5000)
		if len(stalled.Days) != 1 || stalled.Transfers[0].Amount(ledger.Reserve) >= 0 {
			t.Fatalf("the refund does not draw on the reserve: %s", stalled.Transfers[0])
		}
		closed, change := held.Close(later)
		must(t, s.Commit(ctx, quick)) // before the closing: it counts
		must(t, s.Commit(ctx, change))
		if err := s.Commit(ctx, stalled); !errors.Is(err, store.ErrStale) {
			t.Fatalf("a refund that draws on a closed day: %v, want ErrStale", err)
		}
		release(t, s, closed, later)
		if err := s.Commit(ctx, stalled); !errors.Is(err, store.ErrStale) {
			t.Fatalf("a refund that draws on a released day: %v, want ErrStale", err)
		}
		if got := balance(t, s, ledger.Reserve); got != 0 {
			t.Errorf("after the release %d is in reserve", got)
		}
		// A new decision pays it from the released money.
		have, err := s.Books().Balances(ctx, acme)
		must(t, err)
		_, claim, change, err := payments[0].Refund(pay.NewRefund{ID: "CLM-3", Amount: money.New(5000, money.BRL), Released: day(t, s, p).Closed()}, have, later)
		must(t, err)
		must(t, s.Commit(ctx, payload(change)))
		if claim.Freed == 0 || balance(t, s, ledger.Reserve) != 0 {
			t.Errorf("freed %d, %d in reserve", claim.Freed, balance(t, s, ledger.Reserve))
		}
		read, err := s.Claims().Get(ctx, acme, "CLM-3")
		if err != nil || read.Freed != claim.Freed {
			t.Errorf("read %d freed (%v), wrote %d", read.Freed, err, claim.Freed)
		}
	})
}

// A release that was decided before others drew on the reserve is not written.
func TestReleaseNeverTakesTheReserveBelowZero(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		payments, held := heldDay(t, s, "A")
		closed, change := held.Close(held.ReleaseAt)
		must(t, s.Commit(ctx, change))
		have, err := s.Books().Balances(ctx, books)
		must(t, err)
		stalled := closed.Release(0, have, held.ReleaseAt)
		// A decision with a stale guard.
		_, _, change = refund(t, s, payments[0], "CLM-1", 5000)
		change.Days = nil
		must(t, s.Commit(ctx, change))
		if err := s.Commit(ctx, stalled); !errors.Is(err, store.ErrInsufficient) {
			t.Errorf("a release of more than is left: %v, want ErrInsufficient", err)
		}
		release(t, s, closed, held.ReleaseAt)
		if got := balance(t, s, ledger.Reserve); got != 0 {
			t.Errorf("%d is left in the reserve", got)
		}
	})
}

// With refunds and a release at the same moment, in any order, each cent of the reserve
// is used once.
func TestRefundsAndAReleaseAtOnceShareTheReserve(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		var ids []string
		for i := range 12 {
			ids = append(ids, fmt.Sprint("P", i))
		}
		payments, held := heldDay(t, s, ids...)
		later := held.ReleaseAt
		var all sync.WaitGroup
		for i, p := range payments {
			all.Go(func() {
				for try := 0; ; try++ {
					have, err := s.Books().Balances(ctx, acme)
					if err != nil {
						t.Error(err)
						return
					}
					found, err := s.Reserves().ByID(ctx, []string{pay.ReserveOf(p)})
					if err != nil {
						t.Error(err)
						return
					}
					_, _, change, err := p.Refund(pay.NewRefund{ID: fmt.Sprintf("CLM-%d-%d", i, try), Released: found[pay.ReserveOf(p)].Closed()}, have, later)
					// The day is closed, and its reserve is released soon after.
					if refused := new(problem.Error); errors.As(err, &refused) && refused.Code == problem.BalanceInsufficient && try < 10_000 {
						continue
					}
					if err != nil {
						t.Error(err)
						return
					}
					err = s.Commit(ctx, payload(change))
					if errors.Is(err, store.ErrStale) || errors.Is(err, store.ErrInsufficient) {
						continue
					}
					if err != nil {
						t.Error(err)
					}
					return
				}
			})
		}
		all.Go(func() {
			closed, change := held.Close(later)
			if err := s.Commit(ctx, change); err != nil {
				t.Error(err)
				return
			}
			for {
				given, err := s.Reserves().GivenBack(ctx, closed, closed.Day)
				if err != nil {
					t.Error(err)
					return
				}
				have, err := s.Books().Balances(ctx, books)
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Commit(ctx, closed.Release(given, have, later)); !errors.Is(err, store.ErrInsufficient) {
					if err != nil {
						t.Error(err)
					}
					return
				}
			}
		})
		all.Wait()
		have, err := s.Books().Balances(ctx, books)
		must(t, err)
		if have[ledger.Reserve] != 0 || have[ledger.Available]+have[ledger.Pending] != 0 {
			t.Errorf("after all refunds %v is left", have)
		}
	})
}

// Check finds a day's reserve that was used twice, or that went below zero.
func TestCheckFindsAReserveThatWasUsedTwice(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer s.Close()
		payments, held := heldDay(t, s, "A")
		_, _, stalled := refund(t, s, payments[0], "CLM-1", 5000)
		closed, change := held.Close(held.ReleaseAt)
		must(t, s.Commit(ctx, change))
		release(t, s, closed, held.ReleaseAt)
		stalled.Days, stalled.Floors = nil, nil
		must(t, s.Commit(ctx, stalled))
		broken := found(t, s)
		for _, rule := range []string{"a day's reserve is not released and given back too", "nothing of a merchant's but available is below zero"} {
			if !slices.ContainsFunc(broken, func(b check.Broken) bool { return b.Invariant == rule }) {
				t.Errorf("broken: %v, want that %s", broken, rule)
			}
		}
	})
}
