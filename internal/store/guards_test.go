package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/operators"
	"github.com/cascadapay/cascada/internal/store"
)

// A change with two guarded rows of one id, in one table or in two, is refused: who of them lost could not
// be told, and the winner would stand for both.
func TestNoGuardStandsForAnother(t *testing.T) {
	each(t, func(t *testing.T, s *store.Store) {
		merchant := merchants.Merchant{ID: acme.Merchant, Version: 2, Name: "Two", Tier: merchants.Standard, CreatedAt: noon}
		must(t, s.Commit(ctx, pay.Change{Merchants: []merchants.Merchant{merchant}}))
		third, fourth := merchant, merchant
		third.Version, fourth.Version, third.Name, fourth.Name = 3, 4, "Three", "Four"
		many := make([]operators.Operator, 20)
		for i := range many {
			many[i] = operators.Operator{Name: fmt.Sprintf("op%02d", i%19), Version: 1, Hash: fmt.Sprint(i), CreatedAt: noon}
		}
		for name, change := range map[string]pay.Change{
			"a merchant decided on an old version, with his clock": {Merchants: []merchants.Merchant{merchant}, Clocks: []merchants.Clock{{Merchant: acme.Merchant, Version: 1, Advance: 1000}}},
			"two versions of a merchant":                           {Merchants: []merchants.Merchant{third, fourth}},
			"two of many operators":                                {Operators: many},
		} {
			if err := s.Commit(ctx, change); err == nil {
				t.Errorf("%s: written", name)
			}
		}
		m, err := s.Merchants().Get(ctx, acme.Merchant)
		must(t, err)
		if _, err := s.Clocks().Get(ctx, acme.Merchant); !errors.Is(err, store.ErrNotFound) || !reflect.DeepEqual(m, merchant) {
			t.Errorf("something is written: %v, the clock %v", m, err)
		}
		if list, err := s.Operators().List(ctx); err != nil || len(list) > 0 {
			t.Errorf("%d operators (%v), want none", len(list), err)
		}
	})
}
