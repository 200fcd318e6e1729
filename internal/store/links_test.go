package store

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
)

// manyLinks are payment links of many shops, of which few are one shop's.
const manyLinks = `
INSERT INTO payment_links (id, merchant, shop, live, version, sequence, uses, paid, expires_at, closed_at, due_at, created_at, updated_at, doc, row_hash)
SELECT 'lnk_' || lpad(n::text, 26, '0'), 'mer_1', 'shp_' || n % 1000, FALSE, 1, 0, 1, 0, 0, 0, 0, n, n, '{}', ''
FROM generate_series(1, 20000) AS n`

// The list of payment links reads the shop's alone, however many others have.
func TestLinksAreReadByTheirIndex(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := Open(t.Context(), database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if pg, ok := s.b.DB.(*engine.Postgres); ok { // it plans by statistics
			if err := pg.Migrate(t.Context(), func(m engine.Migrator) error { return m.Exec(manyLinks + "; ANALYZE payment_links") }); err != nil {
				t.Fatal(err)
			}
		}
		if plan := planOf(t, s, payments.SelectLinks, "shp_1", false, "", 0, "lnk_Z", 50, 0); !strings.Contains(plan, "payment_links_list") || strings.Contains(plan, "Seq Scan") {
			t.Errorf("the links are not read by their index:\n%s", plan)
		}
	})
}
