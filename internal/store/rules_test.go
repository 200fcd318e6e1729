package store_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/store"
)

func TestRulesAreReadAsTheyWereWritten(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		if mark, err := s.Rules().Mark(ctx); mark != 0 || err != nil {
			t.Errorf("without rules, the newest are %d (%v)", mark, err)
		}
		if _, err := s.Rules().Get(ctx, 1); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("rules that were never applied: %v", err)
		}
		one, two := accounts.RoutingRules{Version: 1, Doc: []byte(`{"order":"ü"}`), At: noon}, accounts.RoutingRules{Version: 2, Doc: []byte{}, At: noon}
		for _, v := range []accounts.RoutingRules{one, two} {
			must(t, s.Commit(ctx, pay.Change{Rules: []accounts.RoutingRules{v}}))
		}
		// Of two operators the second one must decide again.
		if err := s.Commit(ctx, pay.Change{Rules: []accounts.RoutingRules{two}}); !errors.Is(err, store.ErrStale) {
			t.Errorf("a version that is taken: %v, want ErrStale", err)
		}
		list, err := s.Rules().List(ctx, 5)
		must(t, err)
		read, err := s.Rules().Get(ctx, 1)
		must(t, err)
		mark, err := s.Rules().Mark(ctx)
		must(t, err)
		if !reflect.DeepEqual(list, []accounts.RoutingRules{two, one}) || !reflect.DeepEqual(read, one) || mark != 2 {
			t.Errorf("listed %+v, read %+v, newest %d", list, read, mark)
		}
		must(t, s.Commit(ctx, pay.Change{Rules: []accounts.RoutingRules{{Version: 4, At: noon}}}))
		broken, err := s.Check(ctx)
		must(t, err)
		if len(broken) != 1 || broken[0].ID != "rules/4" {
			t.Errorf("a gap in the versions returns %v", broken)
		}
		must(t, s.Commit(ctx, pay.Change{Rules: []accounts.RoutingRules{{Version: 3, At: noon}}}))
	})
}

// A page has payments of both tables, in order, of one environment.
func TestPaymentsBetweenAreReadById(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		for _, id := range []string{"C", "A", "D"} {
			stored(t, s, id)
		}
		_, change := stored(t, s, "B").ApplyAnswer(pay.Outcome{Kind: pay.Awaiting}, routes, noon)
		must(t, s.Commit(ctx, change))
		read := func(live bool, after, before string, limit int) (ids string) {
			t.Helper()
			list, err := s.Payments().Between(ctx, live, after, before, limit)
			must(t, err)
			for _, p := range list {
				ids += p.ID + " " + string(p.Status) + ";"
			}
			return ids
		}
		if got := read(false, "TXN-", "TXN-Z", 3); got != "TXN-A processing;TXN-B pending;TXN-C processing;" {
			t.Errorf("the first page is %s", got)
		}
		if got := read(false, "TXN-C", "TXN-Z", 3); got != "TXN-D processing;" {
			t.Errorf("the second page is %s", got)
		}
		if got := read(false, "TXN-", "TXN-B", 3) + read(true, "TXN-", "TXN-Z", 3); got != "TXN-A processing;" {
			t.Errorf("before B, and in production, there are %s", got)
		}
	})
}
