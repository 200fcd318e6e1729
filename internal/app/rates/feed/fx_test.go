package feed_test

import (
	"testing"

	"github.com/cascadapay/cascada/internal/app/rates/feed"
	"github.com/cascadapay/cascada/internal/pay/catalog"
)

func TestEveryRailHasARate(t *testing.T) {
	table, err := feed.Reference()
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
