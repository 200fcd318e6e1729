package store

import (
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/schema"
)

// beforeStrays is the schema from before payments knew of late money.
const beforeStrays = `
DROP INDEX payments_unsure; DROP INDEX payments_ended; DROP INDEX payments_ended_clock; DROP INDEX claims_open; DROP INDEX settlements_closed;
DROP TABLE quarantined;
ALTER TABLE payments DROP COLUMN unsure_at; ALTER TABLE processing DROP COLUMN unsure_at;
UPDATE payments SET doc = '{"attempts":[{"order":1,"provider":"one","status":"approved","started":1}]}';`

// Late money from before payments knew of it is on them after the migration, with its
// outcome, so that no shopper is asked for it again.
func TestMigrationNotesLateMoney(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		ctx := t.Context()
		s, err := Open(ctx, database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		rate, err := money.ParseRate("5.4")
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		scope, local := tenant.Scope{Merchant: "mer_1", Shop: "shp_1"}, money.New(5400, money.BRL)
		for _, suffix := range []string{"A", "B"} {
			p := pay.Payment{ID: "TXN-" + suffix, Scope: scope, Version: 1, Status: pay.Expired, Price: pay.Price{Rate: rate, Amount: money.New(1000, money.USD), Local: local},
				Way: pay.Way{RailID: "1001", Method: "pix", Country: "BRA"}, Times: pay.Times{Created: at, Updated: at}}
			if err := s.Commit(ctx, pay.Change{Payments: []pay.Payment{p}}); err != nil {
				t.Fatal(err)
			}
		}
		for id, status := range map[string]pay.ClaimStatus{"CLM-1": pay.ClaimPending, "CLM-2": pay.ClaimApproved, "CLM-3": pay.ClaimRejected} {
			c := pay.Claim{ID: id, Scope: scope, Version: 1, Kind: pay.Inquiry, Status: status, Payment: "TXN-A", Local: local, USD: 1000, Attempt: 1, CreatedAt: at, UpdatedAt: at}
			if err := s.Commit(ctx, pay.Change{Claims: []pay.Claim{c}}); err != nil {
				t.Fatal(err)
			}
		}
		list, err := schema.Read(nil)
		if err != nil {
			t.Fatal(err)
		}
		err = s.b.DB.Migrate(ctx, func(m engine.Migrator) error {
			if err := m.Exec(beforeStrays); err != nil {
				return err
			}
			for _, text := range list.Texts() {
				if strings.Contains(text, `"strays"`) {
					return m.Exec(s.b.DB.Dialect().SQL(text))
				}
			}
			t.Error("no migration records late money")
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Payments().Any(ctx, "TXN-A")
		if err != nil {
			t.Fatal(err)
		}
		ends := map[string]pay.StrayEnd{}
		for _, stray := range p.Strays {
			if ends[stray.Claim] = stray.End; stray.Code != pay.LatePayment || stray.Order != 1 || stray.Local != local {
				t.Errorf("the payment has %+v", stray)
			}
		}
		if len(ends) != 3 || ends["CLM-1"] != "" || ends["CLM-2"] != pay.GivenBack || ends["CLM-3"] != pay.Accepted {
			t.Errorf("the money of the inquiries ended as %v", ends)
		}
		if open, ok := p.Strays.Attention(); !ok || open.Claim != "CLM-1" || len(p.Attempts) != 1 {
			t.Errorf("of %s needs attention %+v", p, open)
		}
		if p, err := s.Payments().Any(ctx, "TXN-B"); err != nil || len(p.Strays) != 0 {
			t.Errorf("another payment has %+v, %v", p.Strays, err)
		}
	})
}
