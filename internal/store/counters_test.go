package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
)

// takeOn writes a payment of a given day that ends with a given status.
func takeOn(t *testing.T, s *store.Store, at time.Time, ways ...pay.OutcomeKind) {
	p, change := create(t, id.New("", at))
	p.Times.Created = at
	for i := range change.Payments {
		change.Payments[i].Times.Created = at
	}
	if err := s.Commit(ctx, change); err != nil {
		t.Error(err)
		return
	}
	for _, outcome := range ways {
		p, err := s.Payments().Get(ctx, acme, p.ID)
		if err != nil {
			t.Error(err)
			return
		}
		_, change = p.ApplyAnswer(pay.Outcome{Kind: outcome}, routes, at)
		if err := s.Commit(ctx, payload(change)); err != nil {
			t.Error(err)
		}
	}
}

// Two nodes create payments of today and of long ago while the days are
// rolled up, one of them with an old limit of the days: no total ever lacks a committed payment
// or counts it twice.
func TestTotalsAreExactWhileDaysAreRolledUp(t *testing.T) {
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
		const days, each = 12, 30
		ways := [][]pay.OutcomeKind{nil, {pay.Awaiting}, {pay.Approved}, {pay.Awaiting, pay.Approved}, {pay.Awaiting, pay.Declined}}
		var begun, ended atomic.Int64
		var writers, others sync.WaitGroup
		for w := range 6 {
			writers.Go(func() {
				random := rand.New(rand.NewPCG(3, uint64(w)))
				for range each {
					begun.Add(1)
					at := noon.AddDate(0, 0, random.IntN(days)).Add(time.Duration(random.IntN(1e9)))
					takeOn(t, nodes[w%2], at, ways[random.IntN(len(ways))]...)
					ended.Add(1)
				}
			})
		}
		done := make(chan struct{})
		others.Go(func() { // a day passes again and again; the other node hears of some of these days
			for day := 0; day < days; day++ {
				target := int64(6 * each * day / days)
				for ended.Load() < target {
					select {
					case <-done:
					case <-time.After(time.Millisecond):
					}
				}
				rolling := nodes[:1]
				if day%5 == 4 {
					rolling = nodes // both find the same days
				}
				var both sync.WaitGroup
				for _, s := range rolling {
					both.Go(func() {
						if err := s.RollUp(ctx, noon.AddDate(0, 0, day)); err != nil {
							t.Error(err)
						}
					})
				}
				both.Wait()
			}
		})
		// All days, and those from a morning on, which are added up differently.
		for i, f := range []lists.PaymentFilter{
			{}, {}, {Span: lists.Span{From: noon.Add(-time.Hour)}}, {Span: lists.Span{From: noon.Add(-time.Hour), To: noon.AddDate(0, 0, days)}},
		} {
			others.Go(func() {
				for {
					least := ended.Load()
					n, err := nodes[i%2].Payments().Count(ctx, acme, f)
					if most := begun.Load(); err != nil || n < least || n > most {
						t.Errorf("%d payments counted (%v), want %d to %d: %+v", n, err, least, most, f)
						return
					}
					select {
					case <-done:
						return
					default:
					}
				}
			})
		}
		writers.Wait()
		close(done)
		others.Wait()
		for i, s := range nodes {
			if n, err := s.Payments().Count(ctx, acme, lists.PaymentFilter{}); err != nil || n != 6*each {
				t.Errorf("node %d counts %d payments (%v), want %d", i, n, err, 6*each)
			}
			// And much later, when every day has passed.
			must(t, s.RollUp(ctx, noon.AddDate(0, 0, days+100)))
			if n, err := s.Payments().Count(ctx, acme, lists.PaymentFilter{}); err != nil || n != 6*each {
				t.Errorf("after the roll-up, node %d counts %d payments (%v), want %d", i, n, err, 6*each)
			}
			list, err := s.Payments().List(ctx, acme, lists.PaymentFilter{Page: lists.Page{Limit: 1000}, Method: "pix"})
			must(t, err)
			if len(list) != 6*each {
				t.Errorf("node %d lists %d payments of their method, want %d", i, len(list), 6*each)
			}
		}
		clean(t, nodes[0])
	})
}

// Check reports a wrong counter, whichever of its numbers is wrong.
func TestCheckFindsWrongCounters(t *testing.T) {
	for _, c := range []struct{ tamper, rule string }{
		{"UPDATE counters SET n = n + 1 WHERE day >= 0", "counters count the payments, day by day"},
		{"DELETE FROM counters WHERE day >= 0", "counters count the payments, day by day"},
		{"UPDATE counters SET n = n + 1 WHERE day < 0", "counters of all days have what was rolled up of each"},
		{"DELETE FROM counters WHERE day < 0", "counters of all days have what was rolled up of each"},
		{"UPDATE counters SET rolled = 0", "a day that no list adds up by itself is rolled up"},
	} {
		t.Run(c.tamper, func(t *testing.T) {
			dbtest.Each(t, func(t *testing.T, database string) {
				s, err := store.Open(ctx, database, store.Options{})
				must(t, err)
				defer s.Close()
				takeOn(t, s, noon, pay.Approved)
				must(t, s.RollUp(ctx, noon.AddDate(0, 0, 20)))
				vandalize := newVandal(t, database)
				vandalize.exec(c.tamper)
				broken := found(t, s)
				if !strings.Contains(fmt.Sprint(broken), c.rule) {
					t.Errorf("broken: %v, want %q among them", broken, c.rule)
				}
			})
		})
	}
}
