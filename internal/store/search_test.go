package store

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
)

// manyPayments creates payments of one shop and a few kinds, as a busy shop has them.
const manyPayments = `
INSERT INTO payments (id, merchant, shop, live, version, status, amount, amount_local, currency_local, rate, rail, method, country, order_id,
  email, document, amount_asked, currency_asked, refunded, sequence, due_at, created_at, updated_at, doc, owner, unsure_at, erased_at, row_hash)
SELECT 'TXN-' || lpad(n::text, 26, '0'), 'mer_1', 'shp_1', FALSE, 1, CASE WHEN n % 5 = 0 THEN 'failed' ELSE 'completed' END, 1000 + n % 500, 5000 + n % 500,
  CASE WHEN n % 2 = 0 THEN 'USD' ELSE 'BRL' END, '1', 'r' || n % 4, 'card', 'USA', '',
  'A' || n % 3000 || '@example.com', (52900000000 + n)::text, 5000 + n % 500, 'BRL', 0, 1, 0, n, n, '{}', '', 0, 0, ''
FROM generate_series(1, 20000) AS n;
INSERT INTO counters (shop, live, day, rail, method, country, status, n, rolled)
SELECT shop, live, -1, rail, method, country, status, count(*), 0 FROM payments GROUP BY shop, live, rail, method, country, status`

// A search reads the range of an index for each kind that the shop has, and nothing else: in a table of
// millions, no other payment is read.
func TestSearchesReadTheirRanges(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := Open(t.Context(), database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if pg, ok := s.b.DB.(*engine.Postgres); ok { // it plans by statistics
			if err := pg.Migrate(t.Context(), func(m engine.Migrator) error { return m.Exec(manyPayments + "; ANALYZE payments; ANALYZE counters") }); err != nil {
				t.Fatal(err)
			}
		}
		email, number := []string{"payments_email"}, []string{"payments_document"}
		usd, other := []string{"payments_amount"}, []string{"payments_local", "payments_asked"}
		for text, indexes := range map[string][]string{
			payments.ListByEmail: email, payments.CountByEmail: email, payments.ListByDocument: number, payments.CountByDocument: number, payments.ListByAmount: usd, payments.CountByAmount: usd, payments.ListByOtherAmount: other, payments.CountByOtherAmount: other,
		} {
			plan := explained(t, s, text)
			for _, index := range indexes {
				if !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan on payments") || strings.Contains(plan, "SCAN p\n") {
					t.Errorf("%s\nis not read by %s:\n%s", s.b.Text(text), index, plan)
				}
			}
		}
	})
}

// explained returns the plan of a search.
func explained(t *testing.T, s *Store, text string) string {
	t.Helper()
	args := []any{"shp_1", false, "", "", payments.LastID, "", "", "", 50, 50, 0, 0, int64(2550)}
	switch {
	case strings.Contains(text, "lower(p.email) = $13"):
		args = append(args[:12], "ana@example.com", int64(0), int64(0), "", "")
	case strings.Contains(text, "} = $17"):
		args = append(args[:12], "%4725", int64(0), int64(0), "", "4725")
	case strings.Contains(text, "p.currency_asked = $14"):
		args = append(args, "BRL")
	}
	return planOf(t, s, text, args...) + "\n"
}
