package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/check"
)

func TestMain(m *testing.M) {
	dbtest.Prepare = func(ctx context.Context, database string) error {
		s, err := store.Open(ctx, database, store.Options{})
		if err == nil {
			s.Close()
		}
		return err
	}
	dbtest.Main(m)
}

var (
	ctx  = context.Background()
	noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	acme = merchants.Scope{Merchant: "mer_acme", Shop: "shp_acme"}
)

// each runs a test on both engines with a merchant and a shop in place.
func each(t *testing.T, test func(t *testing.T, s *store.Store)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		must(t, s.Commit(ctx, pay.Change{
			Merchants: []merchants.Merchant{{ID: acme.Merchant, Version: 1, Name: "Acme", Tier: merchants.Standard, CreatedAt: noon}},
			Shops:     []merchants.Shop{{ID: acme.Shop, Version: 1, Merchant: acme.Merchant, Name: "Acme", Slug: "acme", CreatedAt: noon}},
		}))
		test(t, s)
		clean(t, s)
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// clean fails the test if an invariant of the database is broken.
func clean(t *testing.T, s *store.Store) {
	t.Helper()
	for _, b := range found(t, s) {
		t.Errorf("broken: %s", b)
	}
}

// found checks everything, one part after the other and several at the same time, which must find the same.
func found(t *testing.T, s *store.Store) []check.Broken {
	t.Helper()
	broken, err := s.Check(ctx)
	must(t, err)
	atOnce, err := store.ReaderOf(s).Check(ctx, check.Options{Parallel: 4})
	must(t, err)
	if one, other := fmt.Sprint(broken), fmt.Sprint(atOnce.Broken); one != other || (atOnce.Proof == nil) != (len(broken) > 0) {
		t.Errorf("with parts read at the same time the check finds %s, not %s", other, one)
	}
	return broken
}

var routes = pay.Cascade{Routes: []pay.Route{{Provider: "one"}, {Provider: "two"}}}

func rate(t testing.TB) money.Rate {
	r, err := money.ParseRate("5.4")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// create returns a payment of 25.50 USD whose first attempt is in progress, and the change
// that writes it.
func create(t testing.TB, id string) (pay.Payment, pay.Change) {
	t.Helper()
	terms := plans.OfTier(merchants.Standard)
	terms.RefundFees = merchants.FeesReturned
	p, err := pay.Create(pay.Order{
		ID: "TXN-" + id, Scope: acme, Amount: money.New(2550, money.USD), Local: money.New(13770, money.BRL), Rate: rate(t),
		Rail: accounts.Rail{ID: "sbx_pix", Method: "pix", Limits: []accounts.Limit{{Currency: money.BRL, Min: 1, Max: 1_000_000_00}},
			Fee: money.Fee{Bps: 99, Flat: 10}, Window: time.Hour},
		Country: "BRA", OrderID: "order-" + id, Terms: terms,
	}, noon)
	if err != nil {
		t.Fatal(err)
	}
	return p.Begin(routes, noon)
}

// stored writes a payment and returns it.
func stored(t testing.TB, s *store.Store, id string) pay.Payment {
	t.Helper()
	p, change := create(t, id)
	if err := s.Commit(ctx, change); err != nil {
		t.Fatal(err)
	}
	return p
}

func payload(c pay.Change) pay.Change {
	for i := range c.Events {
		c.Events[i].Payload = []byte(`{"id":"` + c.Events[i].ID + `"}`)
	}
	return c
}

func balance(t testing.TB, s *store.Store, a ledger.Account) int64 {
	t.Helper()
	b, err := s.Books().Balances(ctx, acme)
	if err != nil {
		t.Fatal(err)
	}
	return b[a]
}

func TestEveryStatementIsPreparedOnBothEngines(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) { must(t, store.PrepareAll(ctx, s)) })
}

func TestPaymentComesBackAsItWasWritten(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		p := stored(t, s, "A")
		p, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Awaiting, FormURL: "https://x/y?a=\"ü\"", Data: pay.PaymentData{QRCode: "0002"}}, routes, noon.Add(time.Second))
		must(t, s.Commit(ctx, payload(change)))
		got, err := s.Payments().Get(ctx, acme, p.ID)
		must(t, err)
		p.Stored = p.Status
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", p) {
			t.Errorf("read\n%+v\nwrote\n%+v", got, p)
		}
	})
}

func TestTenantsDoNotSeeEachOther(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		p := stored(t, s, "A")
		for _, scope := range []merchants.Scope{
			{Merchant: "mer_other", Shop: "shp_other"},
			{Merchant: acme.Merchant, Shop: "shp_other"},
			{Merchant: acme.Merchant, Shop: acme.Shop, Live: true},
		} {
			if _, err := s.Payments().Get(ctx, scope, p.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%+v reads %s: %v, want ErrNotFound", scope, p.ID, err)
			}
			list, err := s.Payments().List(ctx, scope, lists.PaymentFilter{Page: lists.Page{Limit: 10}})
			must(t, err)
			if n, err := s.Payments().Count(ctx, scope, lists.PaymentFilter{}); err != nil || len(list) != 0 || n != 0 {
				t.Errorf("%+v lists %d and counts %d (%v), want none", scope, len(list), n, err)
			}
		}
	})
}

func TestStaleChangeWritesNothing(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		p := stored(t, s, "A")
		_, first := p.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, noon)
		must(t, s.Commit(ctx, payload(first)))
		before := balance(t, s, ledger.Pending)
		_, second := p.ApplyAnswer(pay.Outcome{Kind: pay.Declined}, routes, noon)
		if err := s.Commit(ctx, payload(second)); !errors.Is(err, store.ErrStale) {
			t.Fatalf("second decision on the same version: %v, want ErrStale", err)
		}
		got, err := s.Payments().Get(ctx, acme, p.ID)
		must(t, err)
		if got.Status != pay.Completed || balance(t, s, ledger.Pending) != before {
			t.Errorf("after the stale change: %s", got)
		}
		if n := s.Stats().Again; n != 1 {
			t.Errorf("%d transactions ran twice, for one stale change", n)
		}
	})
}

// Many callers decide about the same payment at once, with unrelated changes in the same
// batches: one wins, and every caller gets its own result.
func TestRaceForOnePayment(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		p := stored(t, s, "A")
		_, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, noon)
		change = payload(change)
		var wg sync.WaitGroup
		var mu sync.Mutex
		answers := map[error]int{}
		for i := range 50 {
			wg.Go(func() {
				err := s.Commit(ctx, change)
				mu.Lock()
				answers[err]++
				mu.Unlock()
			})
			_, other := create(t, fmt.Sprintf("B%02d", i))
			wg.Go(func() {
				if err := s.Commit(ctx, other); err != nil {
					t.Errorf("a stranger's payment: %v", err)
				}
			})
		}
		wg.Wait()
		if answers[nil] != 1 || answers[store.ErrStale] != 49 {
			t.Errorf("answers %v, want one nil and 49 ErrStale", answers)
		}
		if got, want := balance(t, s, ledger.Pending), p.Price.Amount.Minor-p.Terms.Fees.Total()-p.Terms.Reserve; got != want {
			t.Errorf("pending %d after 50 captures of one payment, want %d", got, want)
		}
	})
}

func TestOnceKeyIsTakenOnce(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		answers := map[error]int{}
		for i := range 40 {
			_, change := create(t, fmt.Sprintf("A%02d", i))
			change.Once = &pay.Once{Key: "k", Hash: "h", Object: change.Payments[0].ID, At: noon}
			wg.Go(func() {
				err := s.Commit(ctx, change)
				mu.Lock()
				answers[err]++
				mu.Unlock()
			})
		}
		wg.Wait()
		if answers[nil] != 1 || answers[store.ErrDuplicate] != 39 {
			t.Errorf("answers %v, want one nil and 39 ErrDuplicate", answers)
		}
		n, err := s.Payments().Count(ctx, acme, lists.PaymentFilter{})
		must(t, err)
		o, err := s.Idempotency().Get(ctx, "k")
		must(t, err)
		if _, err := s.Payments().Get(ctx, acme, o.Object); n != 1 || err != nil {
			t.Errorf("%d payments with one key, the one that the key names: %v", n, err)
		}
	})
}

func transfer(id string, postings ...ledger.Posting) ledger.Transfer {
	return ledger.Transfer{ID: id, Merchant: acme.Merchant, Kind: "funding", Local: money.New(0, money.USD), At: noon, Postings: postings}
}

// Twenty callers withdraw 30 of 100 at once, each with a floor of zero: three succeed.
func TestFloorHoldsUnderRaces(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		must(t, s.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{
			transfer("t", ledger.Posting{Account: ledger.Available, Amount: 100}, ledger.Posting{Account: ledger.Receivable, Amount: -100}),
		}}))
		var wg sync.WaitGroup
		var mu sync.Mutex
		answers := map[error]int{}
		for i := range 20 {
			wg.Go(func() {
				err := s.Commit(ctx, pay.Change{
					Transfers: []ledger.Transfer{transfer(fmt.Sprintf("t%d", i),
						ledger.Posting{Account: ledger.Available, Amount: -30}, ledger.Posting{Account: ledger.PlatformFees, Amount: 30})},
					Floors: []ledger.Floor{{Merchant: acme.Merchant, Account: ledger.Available}},
				})
				mu.Lock()
				answers[err]++
				mu.Unlock()
			})
		}
		wg.Wait()
		if answers[nil] != 3 || answers[store.ErrInsufficient] != 17 || balance(t, s, ledger.Available) != 10 {
			t.Errorf("answers %v, available %d; want 3 done, 17 refused, 10 left", answers, balance(t, s, ledger.Available))
		}
	})
}

// If a change wins its version but breaks a floor, nothing of it stays, and the other changes of
// its batch succeed.
func TestBrokenFloorUndoesTheOtherGuards(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		p := stored(t, s, "A")
		next, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Awaiting}, routes, noon)
		change.Floors = []ledger.Floor{{Merchant: acme.Merchant, Account: ledger.Available, Min: 1}}
		if err := s.Commit(ctx, change); !errors.Is(err, store.ErrInsufficient) {
			t.Fatalf("floor of 1 on an empty balance: %v, want ErrInsufficient", err)
		}
		got, err := s.Payments().Get(ctx, acme, p.ID)
		must(t, err)
		if got.Version != p.Version || got.Status != pay.Processing {
			t.Errorf("after the broken floor: %s, want it unchanged; %s must not be written", got, next)
		}
	})
}

// An error in the middle of a batch: a transfer's id is taken. Only that change
// fails.
func TestFaultInABatchHitsOnlyItsOwnChange(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		line := func() []ledger.Posting {
			return []ledger.Posting{{Account: ledger.Available, Amount: 5}, {Account: ledger.Receivable, Amount: -5}}
		}
		must(t, s.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{transfer("taken", line()...)}}))
		var wg sync.WaitGroup
		for i := range 30 {
			id, faulty := fmt.Sprintf("t%d", i), i%10 == 3
			if faulty {
				id = "taken"
			}
			wg.Go(func() {
				err := s.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{transfer(id, line()...)}})
				if faulty != (err != nil) {
					t.Errorf("transfer %s: %v", id, err)
				}
			})
		}
		wg.Wait()
		if got := balance(t, s, ledger.Available); got != 5*28 {
			t.Errorf("available %d, want %d: one transfer and 27 more", got, 5*28)
		}
	})
}

func TestUnbalancedTransferIsRefused(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		err := s.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{
			transfer("t", ledger.Posting{Account: ledger.Available, Amount: 2}, ledger.Posting{Account: ledger.Receivable, Amount: -1})}})
		if !errors.Is(err, ledger.ErrUnbalanced) {
			t.Errorf("Commit() = %v, want ErrUnbalanced", err)
		}
	})
}

func TestListsAreNewestFirstAndTotalsAreExact(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		for i := range 9 {
			p := stored(t, s, fmt.Sprintf("%026d", i))
			if i%3 == 0 {
				_, change := p.ApplyAnswer(pay.Outcome{Kind: pay.Approved}, routes, noon)
				must(t, s.Commit(ctx, payload(change)))
			}
		}
		id := func(i int) string { return fmt.Sprintf("TXN-%026d", i) }
		for _, c := range []struct {
			name   string
			filter lists.PaymentFilter
			total  int64
			want   []int
		}{
			{"all", lists.PaymentFilter{Page: lists.Page{Limit: 3}}, 9, []int{8, 7, 6}},
			{"a page", lists.PaymentFilter{Page: lists.Page{Limit: 3, Offset: 7}}, 9, []int{1, 0}},
			{"completed", lists.PaymentFilter{Page: lists.Page{Limit: 9}, Status: pay.Completed}, 3, []int{6, 3, 0}},
			{"after", lists.PaymentFilter{Page: lists.Page{After: id(3), Limit: 2}}, 9, []int{2, 1}},
			{"an order", lists.PaymentFilter{Page: lists.Page{Limit: 9}, OrderID: "order-" + id(4)[4:]}, 1, []int{4}},
			{"an order of another status", lists.PaymentFilter{Page: lists.Page{Limit: 9}, OrderID: "order-" + id(4)[4:], Status: pay.Completed}, 0, nil},
			{"rail and country", lists.PaymentFilter{Page: lists.Page{Limit: 1}, Rail: "sbx_pix", Country: "BRA"}, 9, []int{8}},
			{"another rail", lists.PaymentFilter{Page: lists.Page{Limit: 1}, Rail: "sbx_card"}, 0, nil},
			{"method", lists.PaymentFilter{Page: lists.Page{Limit: 2}, Method: "pix", Status: pay.Processing}, 6, []int{8, 7}},
		} {
			list, err := s.Payments().List(ctx, acme, c.filter)
			must(t, err)
			total, err := s.Payments().Count(ctx, acme, c.filter)
			must(t, err)
			var got, want []string
			for _, p := range list {
				got = append(got, p.ID)
			}
			for _, i := range c.want {
				want = append(want, id(i))
			}
			if strings.Join(got, " ") != strings.Join(want, " ") || total != c.total {
				t.Errorf("%s: %v of %d, want %v of %d", c.name, got, total, want, c.total)
			}
		}
	})
}

func subscribe(t *testing.T, s *store.Store, id string, events ...string) {
	t.Helper()
	must(t, s.Commit(ctx, pay.Change{Subscriptions: []webhooks.Subscription{{
		ID: "wh_" + id, Scope: acme, Version: 1, URL: "https://example.com/" + id, Events: events, Status: webhooks.Enabled, CreatedAt: noon.Add(-time.Hour),
	}}}))
}

func TestDuePaymentsAreLeasedOnce(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		for i := range 20 {
			stored(t, s, fmt.Sprint(i))
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		seen := map[string]int{}
		for range 4 {
			wg.Go(func() {
				list, err := s.Payments().Lease(ctx, noon.Add(time.Hour), noon.Add(2*time.Hour), 7)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, p := range list {
					seen[p.ID]++
				}
			})
		}
		wg.Wait()
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s was leased %d times", id, n)
			}
		}
		if len(seen) < 7 {
			t.Errorf("%d payments leased, want at least 7", len(seen))
		}
	})
}

func TestRailKeepsItsID(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		first, err := s.Rates().RailIDs(ctx, []string{"b", "a"})
		must(t, err)
		// "a" leaves the catalog, "c" joins it and still gets a new id.
		second, err := s.Rates().RailIDs(ctx, []string{"c", "b"})
		must(t, err)
		if first["b"] != 1001 || first["a"] != 1002 || second["b"] != 1001 || second["c"] != 1003 {
			t.Errorf("ids %v, then %v", first, second)
		}
	})
}

func TestSecondStartFindsNothingToMigrate(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				s, err := store.Open(ctx, database, store.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				s.Close()
			})
		}
		wg.Wait()
	})
}

func TestClosedStoreRefusesChanges(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		s.Close()
		if err := s.Commit(ctx, pay.Change{}); !errors.Is(err, store.ErrBusy) {
			t.Errorf("Commit after Close: %v, want ErrBusy", err)
		}
	})
}

// Check finds what somebody changed in the database without the service.
func TestCheckFindsTampering(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		defer s.Close()
		stored(t, s, "A") // its shop does not exist
		broken, err := s.Check(ctx)
		must(t, err)
		if len(broken) != 1 || broken[0].ID != "TXN-A" {
			t.Errorf("broken: %v, want the payment without a shop", broken)
		}
	})
}
