package store

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/store/audit"
	"github.com/cascadapay/cascada/internal/store/claims"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// manyClaims are the refunds of some shops, and their few disputes; and what else is in its audit log.
const manyClaims = `
INSERT INTO claims (id, merchant, shop, live, version, kind, status, payment, amount_local, currency_local, amount, frozen, due_at, created_at, updated_at, doc, dispute, row_hash)
SELECT 'CLM-' || lpad(n::text, 26, '0'), 'mer_1', 'shp_' || n % 41, FALSE, 1, CASE WHEN n % 20 = 0 THEN 'chargeback' ELSE 'user_dispute' END,
  CASE WHEN n % 400 = 0 THEN 'needs_evidence' WHEN n % 60 = 0 THEN 'under_review' ELSE 'approved' END, 'TXN-' || n, 100, 'BRL', 100, 0, 0, n, n, '{"dueBy":' || n || '}', '', ''
FROM generate_series(1, 20000) AS n;
INSERT INTO audit (id, merchant, shop, live, actor_kind, actor, request, act, object, at, doc, commitment, note_commitment)
SELECT 'aud_' || lpad(n::text, 26, '0'), 'mer_1', 'shp_1', FALSE, 'key', 'key_1', '', 'refund.opened', 'CLM-' || n, n, '{}', '', '' FROM generate_series(1, 20000) AS n`

// Lists of refunds and of disputes read the index of kinds, and who did something is found by its object.
func TestClaimListsReadTheirIndexes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s, err := Open(t.Context(), database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if pg, ok := s.b.DB.(*engine.Postgres); ok { // it plans by statistics
			if err := pg.Migrate(t.Context(), func(m engine.Migrator) error { return m.Exec(manyClaims + "; ANALYZE claims; ANALYZE audit") }); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			text, index string
			args        []any
		}{
			{claims.ListRefunds, "claims_kind", []any{"shp_1", false, "", "z", 50}},
			{claims.CountRefunds, "claims_", []any{"shp_1", false, ""}}, // PostgreSQL reads the index alone once the table was vacuumed
			{claims.ListUrgentDisputes, "claims_kind", []any{"shp_1", false, int64(-1), "", 50}},
			{claims.ListDisputesInReview, "claims_kind", []any{"shp_1", false, "z", 50}},
			{claims.ListEndedDisputes, "claims_kind", []any{"shp_1", false, "z", 50}},
			{claims.CountDisputes, "claims_kind", []any{"shp_1", false}},
			{audit.SelectOf, "audit_object", append(s.b.IDs([]string{"CLM-1", "CLM-2"}), "mer_1", "refund.opened")},
		} {
			if plan := planOf(t, s, c.text, c.args...); !strings.Contains(plan, c.index) {
				t.Errorf("%s\nis not read by %s:\n%s", s.b.Text(c.text), c.index, plan)
			}
		}
	})
}
