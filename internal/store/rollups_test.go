package store_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/analytics"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
)

// addUp adds all facts up.
func addUp(t *testing.T, s *store.Store) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.Rollups().AddUp(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// totals are a shop's totals of all dimensions, as stored.
func totals(t *testing.T, s *store.Store, shop string) map[string]analytics.Total {
	t.Helper()
	all := map[string]analytics.Total{}
	for _, d := range []analytics.Dimension{
		analytics.ByAll, analytics.ByMethod, analytics.ByCountry, analytics.ByRail, analytics.ByBand, analytics.ByHour, analytics.ByAnswer,
		analytics.ByTries, analytics.ByWait, analytics.ByAccount, analytics.ByRoute, analytics.ByRefusal, analytics.ByAccountRefusal, analytics.ByStep,
	} {
		for day := range 14 {
			from := noon.Truncate(24*time.Hour).AddDate(0, 0, day)
			list, err := s.Rollups().Values(ctx, shop, acme.Live, d, from, from, from.AddDate(0, 0, 1))
			must(t, err)
			for _, v := range list {
				key := fmt.Sprint(d, " ", v.Value, " ", v.Outcome, " ", day)
				all[key] = all[key].Plus(v.Total)
			}
		}
	}
	return all
}

// counted are the totals that the payments in the database have, counted one by one.
func counted(t *testing.T, s *store.Store) map[string]analytics.Total {
	t.Helper()
	sums := analytics.Totals{}
	list, err := s.Payments().List(ctx, acme, lists.PaymentFilter{Page: lists.Page{Limit: 10_000}})
	must(t, err)
	for i := range list {
		list[i].Stored = ""
		if f, ends := analytics.OfPayment(&list[i]); ends {
			sums.Add(f.Class, analytics.Total{N: 1, Amount: f.Amount, Fees: f.Fees})
		}
	}
	all := map[string]analytics.Total{}
	for k, v := range sums {
		if k.Shop == acme.Shop {
			all[fmt.Sprint(k.Dimension, " ", k.Value, " ", k.Outcome, " ", k.Day-noon.Unix()/86400)] = v
		}
	}
	return all
}

func sameTotals(t *testing.T, what string, got, want map[string]analytics.Total) {
	t.Helper()
	if len(want) == 0 {
		t.Fatalf("%s: there is nothing to compare", what)
	}
	if maps.Equal(got, want) {
		return
	}
	for k := range want {
		if got[k] != want[k] {
			t.Errorf("%s: %s is %+v, want %+v", what, k, got[k], want[k])
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s: nobody expects %s %+v", what, k, got[k])
		}
	}
}

// What a page shows is not late: it has the facts that nobody added up yet, once.
func TestTotalsHaveFreshFacts(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		for day := range 5 {
			takeOn(t, s, noon.AddDate(0, 0, day), pay.Awaiting, []pay.OutcomeKind{pay.Approved, pay.Declined}[day%2])
			sameTotals(t, fmt.Sprint("before day ", day, " is added up"), totals(t, s, acme.Shop), counted(t, s))
			if day == 2 {
				addUp(t, s)
			}
		}
		addUp(t, s)
		sameTotals(t, "added up", totals(t, s, acme.Shop), counted(t, s))
		var n int64
		days, err := s.Rollups().Days(ctx, acme.Shop, acme.Live, noon.Truncate(24*time.Hour), noon.Truncate(24*time.Hour).AddDate(0, 0, 2))
		must(t, err)
		for _, d := range days {
			n += d.N
		}
		if n != 2 {
			t.Errorf("two days have %d payments", n)
		}
	})
}

// Facts that this program cannot read, such as those of a newer one during an update, wait, however many they are. They hold
// up no others.
func TestUnreadableFactsHoldUpNoOthers(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, v := openSealed(t, database, store.Options{}), newVandal(t, database)
		withShop(t, s)
		takeOn(t, s, noon, pay.Approved)
		addUp(t, s)
		for i := range 450 {
			v.exec(fmt.Sprintf("INSERT INTO facts (at, id, doc) VALUES (%d, 'TXN-%d', 'TXN-%d 1 2 what is this')", i/3, i, i))
		}
		takeOn(t, s, noon.AddDate(0, 0, 1), pay.Approved)
		addUp(t, s)
		sameTotals(t, "behind 450 rows that nobody can read", totals(t, s, acme.Shop), counted(t, s))
		v.exec("DELETE FROM facts WHERE doc LIKE '%what is this'")
		sameTotals(t, "without them", totals(t, s, acme.Shop), counted(t, s))
		clean(t, s)
	})
}

// Two nodes take payments and add facts up, all at the same time, while everything is counted again from the payments:
// at the end each payment that ended is counted once.
func TestEachPaymentIsCountedOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		var nodes []*store.Store
		for range 2 {
			s, err := store.Open(ctx, database, store.Options{})
			must(t, err)
			defer s.Close()
			nodes = append(nodes, s)
		}
		must(t, nodes[0].Commit(ctx, pay.Change{
			Merchants: []merchants.Merchant{{ID: acme.Merchant, Version: 1, Name: "Acme", Tier: merchants.Standard, CreatedAt: noon}},
			Shops:     []merchants.Shop{{ID: acme.Shop, Version: 1, Merchant: acme.Merchant, Name: "Acme", Slug: "acme", CreatedAt: noon}},
		}))
		const each = 60
		ways := [][]pay.OutcomeKind{nil, {pay.Awaiting}, {pay.Approved}, {pay.Awaiting, pay.Approved}, {pay.Awaiting, pay.Declined}}
		var ended atomic.Int64
		var writers, others sync.WaitGroup
		for w := range 6 {
			writers.Go(func() {
				random := rand.New(rand.NewPCG(3, uint64(w)))
				for range each {
					at := noon.AddDate(0, 0, random.IntN(12)).Add(time.Duration(random.IntN(1e9)))
					takeOn(t, nodes[w%2], at, ways[random.IntN(len(ways))]...)
					ended.Add(1)
				}
			})
		}
		var done atomic.Bool
		for _, s := range nodes {
			others.Go(func() {
				for !done.Load() {
					if _, err := s.Rollups().AddUp(ctx); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		others.Go(func() {
			for again := range int64(5) {
				for ended.Load() < 6*each*again/5 {
					time.Sleep(time.Millisecond)
				}
				if err := nodes[0].Rollups().Recount(ctx); err != nil {
					t.Error(err)
				}
			}
		})
		writers.Wait()
		done.Store(true)
		others.Wait()
		addUp(t, nodes[0])
		want := counted(t, nodes[0])
		sameTotals(t, "after all", totals(t, nodes[0], acme.Shop), want)
		sameTotals(t, "of all shops", totals(t, nodes[0], analytics.Everyone), want)
		must(t, nodes[1].Rollups().Recount(ctx))
		if end, err := nodes[1].Rollups().RecountEnd(ctx); err != nil || end == "" {
			t.Errorf("after a recount has begun, payments are counted from %q on (%v)", end, err)
		}
		addUp(t, nodes[1])
		sameTotals(t, "counted again", totals(t, nodes[0], acme.Shop), want)
		broken, err := nodes[0].Check(ctx)
		must(t, err)
		for _, b := range broken {
			t.Error(b)
		}
	})
}
