package adapters

import (
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/catalog"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// An account can be opened at every adapter by its name, on rails that the catalog
// has.
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
		if len(a.Rails) == 0 || len(a.Fields) == 0 || a.Open == nil {
			t.Errorf("%s has %d rails and %d credentials", a.Name, len(a.Rails), len(a.Fields))
		}
		for _, rail := range a.Rails {
			if !known[rail] {
				t.Errorf("%s serves %s, which the catalog does not have", a.Name, rail)
			}
		}
		for rail := range providertest.Table(t, a.Name) {
			if !slices.Contains(a.Rails, rail) {
				t.Errorf("the documents have %s at %s, which the adapter does not serve", rail, a.Name)
			}
		}
	}
}
