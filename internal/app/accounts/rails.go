package accounts

import (
	"context"
	"slices"
	"strconv"

	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/catalog"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
)

// Catalog has the rails with their ids.
type Catalog struct {
	Sandbox []accounts.Rail
	Live    []accounts.Rail
	ByID    map[string]accounts.Rail // of production and the sandbox
	Slugs   []string                 // names of the methods of both, sorted
	Adapted map[string]bool          // keys of the rails that an adapter serves
}

// LoadCatalog reads the ids of the rails, and gives new rails an id. It marks the rails that an adapter serves.
func LoadCatalog(ctx context.Context, db *store.Store, adapters []provider.Adapter) (*Catalog, error) {
	c := &Catalog{Sandbox: catalog.Sandbox(), Live: catalog.Rails(), ByID: map[string]accounts.Rail{}, Adapted: map[string]bool{}}
	for _, a := range adapters {
		for _, key := range a.Rails { // those of payouts are in no catalog
			c.Adapted[key] = true
		}
	}
	var keys []string
	for _, r := range c.Live {
		keys = append(keys, r.Key)
	}
	ids, err := db.Rates().RailIDs(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i, r := range c.Live {
		c.Live[i].ID = strconv.FormatInt(ids[r.Key], 10)
		c.ByID[c.Live[i].ID] = c.Live[i]
	}
	for _, r := range c.Sandbox {
		c.ByID[r.ID] = r
	}
	for _, r := range c.ByID {
		c.Slugs = append(c.Slugs, r.Method)
	}
	slices.Sort(c.Slugs)
	c.Slugs = slices.Compact(c.Slugs)
	return c, nil
}

// HasMethod reports whether a method has this name.
func (c *Catalog) HasMethod(slug string) bool {
	bySlug := func(r accounts.Rail) bool { return r.Method == slug }
	return slices.ContainsFunc(c.Sandbox, bySlug) || slices.ContainsFunc(c.Live, bySlug)
}
