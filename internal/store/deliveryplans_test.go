package store

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/webhooks"
)

const manyDeliveries = `
INSERT INTO deliveries (id, merchant, shop, live, version, event, type, subscription, status, attempts, budget, due_at, created_at, doc, parked)
SELECT 'wd_' || lpad(n::text, 26, '0'), 'mer_1', 'shp_1', FALSE, 1, 'evt_' || n, 'payment.completed', 'wh_' || n % 7, 'delivered', 1, 11, 0, n, '{}', FALSE
FROM generate_series(1, 20000) AS n`

// All deliveries of an endpoint are read by time, and not kind by kind, which PostgreSQL plans for longer than it reads.
func TestDeliveriesAreReadByTime(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := Open(t.Context(), database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if pg, ok := s.b.DB.(*engine.Postgres); ok { // it plans by statistics
			if err := pg.Migrate(t.Context(), func(m engine.Migrator) error { return m.Exec(manyDeliveries + "; ANALYZE deliveries") }); err != nil {
				t.Fatal(err)
			}
		}
		plan := planOf(t, s, webhooks.ListDeliveries, "wh_1", "shp_1", false, int64(0), int64(1)<<60, int64(1)<<60, "", 51, 0)
		if !strings.Contains(plan, "deliveries_time") || strings.Contains(strings.ToLower(plan), "sort") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("the list is not read by its index:\n%s", plan)
		}
	})
}
