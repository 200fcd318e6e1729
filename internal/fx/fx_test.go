package fx_test

import (
	"testing"

	"github.com/cascadapay/cascada/internal/catalog"
	"github.com/cascadapay/cascada/internal/fx"
)

func TestEveryRailHasARate(t *testing.T) {
	table, err := fx.Reference()
	if err != nil {
		t.Fatal(err)
	}
	for _, rail := range append(catalog.Rails(), catalog.Sandbox()...) {
		for _, limit := range rail.Limits {
			if !table.Knows(limit.Currency) {
				t.Errorf("rail %s takes %s, which has no rate", rail.Key, limit.Currency)
			}
		}
	}
}
