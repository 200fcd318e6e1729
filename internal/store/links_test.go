package store

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
)

// manySessions are checkouts of one shop, of which few are payment links.
const manySessions = `
INSERT INTO sessions (id, merchant, shop, live, version, hash, amount, amount_asked, currency_asked, rate, country, order_id, link, payment, due_at, created_at, updated_at, doc, row_hash)
SELECT 'ses_' || lpad(n::text, 26, '0'), 'mer_1', 'shp_1', FALSE, 1, 'h' || n, 1000, 1000, 'USD', '1', '', '', n % 1000 = 0, '', 0, n, n, '{"customer":{}}', ''
FROM generate_series(1, 20000) AS n`

// The list of payment links reads links alone, however many checkouts the shop's server opens.
func TestLinksAreReadByTheirIndex(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := Open(t.Context(), database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if pg, ok := s.b.DB.(*engine.Postgres); ok { // it plans by statistics
			if err := pg.Migrate(t.Context(), func(m engine.Migrator) error { return m.Exec(manySessions + "; ANALYZE sessions") }); err != nil {
				t.Fatal(err)
			}
		}
		if plan := planOf(t, s, payments.SelectLinks, "shp_1", false, "ses_Z", 50); !strings.Contains(plan, "sessions_links") || strings.Contains(plan, "Seq Scan") {
			t.Errorf("the links are not read by their index:\n%s", plan)
		}
	})
}
