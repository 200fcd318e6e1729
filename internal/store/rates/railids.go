package rates

import (
	"context"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
)

var (
	selectRailIDs = engine.Statement(`SELECT rail, id FROM rail_ids`)
	// The next numbers come from the table itself, so that an id is never reused, even after its rail left
	// the catalog. If two nodes start at once, one may get nothing and retries.
	insertRailIDs = engine.Standalone(`
INSERT INTO rail_ids (rail, id)
SELECT r.rail, r.n + (SELECT coalesce(max(id), 1000) FROM rail_ids) FROM {rows: rail TEXT, n BIGINT} AS r
WHERE TRUE ON CONFLICT DO NOTHING`)
)

// RailIDs returns each rail's paymentMethodId, and assigns one where it is missing (CAT-3).
func (ra Rates) RailIDs(ctx context.Context, rails []string) (map[string]int64, error) {
	for range 10 {
		ids, err := railIDs(ctx, ra.b)
		if err != nil {
			return nil, err
		}
		missing := engine.NewRows(ra.b.DB.Dialect(), engine.ParseColumns("rail TEXT, n BIGINT"), 0)
		for _, rail := range rails {
			if _, known := ids[rail]; !known {
				missing.Text(rail).Number(int64(missing.N + 1)).Next()
			}
		}
		if missing.N == 0 {
			return ids, nil
		}
		if err := ra.b.DB.Lease(ctx, ra.b.Text(insertRailIDs), missing.Args(), nil); err != nil {
			return nil, fmt.Errorf("give rails their ids: %w", err)
		}
	}
	return nil, errors.New("give rails their ids: other nodes were always first")
}

func railIDs(ctx context.Context, b *base.Base) (map[string]int64, error) {
	ids := map[string]int64{}
	err := b.Query(ctx, selectRailIDs, nil, func(r engine.Row) error {
		var rail string
		var id int64
		err := r.Scan(&rail, &id)
		ids[rail] = id
		return err
	})
	return ids, err
}
