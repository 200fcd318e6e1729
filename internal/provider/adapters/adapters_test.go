package adapters

import (
	"slices"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/pay/catalog"
	"github.com/cascadapay/cascada/internal/pay/destination"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// An account can be opened at every adapter by its name, on rails in the
// catalog.
func TestAdaptersServeRailsOfTheCatalog(t *testing.T) {
	known := map[string]bool{}
	for _, r := range catalog.Rails() {
		known[r.Key] = true
	}
	before := ""
	for _, a := range All() {
		if a.Name <= before {
			t.Errorf("%s comes after %s: want each name once, in order", a.Name, before)
		}
		before = a.Name
		if len(a.Rails) == 0 || (a.Open == nil) == (a.OpenPayouts == nil) || a.Open != nil && len(a.Fields) == 0 {
			t.Errorf("%s has %d rails and %d credentials; want one way to open an account", a.Name, len(a.Rails), len(a.Fields))
		}
		if a.OpenPayouts != nil {
			for _, rail := range a.Rails {
				network, currency, _ := strings.Cut(rail, ".")
				if !slices.Contains(destination.Networks(), network) || currency == "" {
					t.Errorf("%s pays out over %s, which no wallet has", a.Name, rail)
				}
			}
			continue
		}
		for _, rail := range a.Rails {
			if !known[rail] {
				t.Errorf("%s serves %s, which the catalog does not have", a.Name, rail)
			}
		}
		for rail := range providertest.Table(t, a.Name) {
			if !slices.Contains(a.Rails, rail) {
				t.Errorf("the docs list %s at %s, which the adapter does not serve", rail, a.Name)
			}
		}
	}
}
