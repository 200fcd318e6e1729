package store

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store/base"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/schema"
)

// oldCounters is how payments were counted before there were counters of days.
const oldCounters = `
DROP INDEX payments_kind;
DROP TABLE watermarks;
DROP TABLE counters;
CREATE TABLE counters (
  shop TEXT NOT NULL, live BOOLEAN NOT NULL, rail TEXT NOT NULL, method TEXT NOT NULL, country TEXT NOT NULL, status TEXT NOT NULL,
  n BIGINT NOT NULL, PRIMARY KEY (shop, live, rail, method, country, status)
);
INSERT INTO counters (shop, live, rail, method, country, status, n)
SELECT shop, live, rail, method, country, status, count(*) FROM payments GROUP BY shop, live, rail, method, country, status;`

// A database with payments keeps its totals, and gets those of the days.
func TestMigrationCountsTheDays(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		ctx := t.Context()
		s, err := Open(ctx, database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		scope := tenant.Scope{Merchant: "mer_1", Shop: "shp_1"}
		rate, err := money.ParseRate("1")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)
		for i := range 5 {
			at := start.Add(time.Duration(i) * 30 * time.Minute)
			p := pay.Payment{
				ID: pay.PaymentPrefix + strings.Repeat("0", 25) + string(rune('1'+i)), Scope: scope, Version: 1, Status: pay.Pending, Price: pay.Price{Rate: rate,
					Amount: money.New(100, money.USD), Local: money.New(100, money.USD)}, Way: pay.Way{RailID: "sbx_card", Method: "card", Country: "USA"},
				Times: pay.Times{Created: at, Updated: at},
			}
			if err := s.Commit(ctx, pay.Change{Payments: []pay.Payment{p}}); err != nil {
				t.Fatal(err)
			}
		}
		list, err := schema.Read(nil)
		if err != nil {
			t.Fatal(err)
		}
		err = s.b.DB.Migrate(ctx, func(m engine.Migrator) error {
			if err := m.Exec(oldCounters); err != nil {
				return err
			}
			ran := 0
			for _, text := range list.Texts() {
				if strings.Contains(text, "CREATE TABLE tallies") || strings.Contains(text, "CREATE TABLE watermarks") {
					ran++
					if err := m.Exec(s.b.DB.Dialect().SQL(text)); err != nil {
						return err
					}
				}
			}
			if ran != 2 {
				t.Errorf("%d migrations count the days and roll them up, want 2", ran)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for day, want := range map[int64]int64{base.AllDays: 5, start.UnixMicro() / base.DayMicros: 2, start.UnixMicro()/base.DayMicros + 1: 3} {
			n := int64(0)
			err := s.b.DB.Query(ctx, `SELECT CAST(sum(n) AS BIGINT) FROM counters WHERE day = $1`, []any{day}, func(r engine.Row) error { return r.Scan(&n) })
			if err != nil || n != want {
				t.Errorf("day %d has %d payments (%v), want %d", day, n, err, want)
			}
		}
		if day, err := s.b.ReadRolledUp(ctx); err != nil || day < start.UnixMicro()/base.DayMicros {
			t.Errorf("rolled up until day %d (%v), want a day after the payments", day, err)
		}
		if n, err := s.Payments().Count(ctx, scope, lists.PaymentFilter{}); err != nil || n != 5 {
			t.Errorf("%d payments in total (%v), want 5", n, err)
		}
		broken, err := s.Check(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range broken {
			if strings.HasPrefix(b.Rule, "counters") {
				t.Errorf("broken: %s", b)
			}
		}
	})
}

// A database with the collation of a language, from before columns had their own,
// sorts ids as bytes after the migration.
func TestTextIsComparedAsBytes(t *testing.T) {
	ctx := t.Context()
	s, err := Open(ctx, dbtest.Postgres(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const inLanguage = `SELECT table_name || '.' || column_name FROM information_schema.columns
WHERE table_schema = current_schema() AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`
	find := func() (found []string) {
		t.Helper()
		err := s.b.DB.Query(ctx, inLanguage, nil, func(r engine.Row) error {
			var name string
			err := r.Scan(&name)
			found = append(found, name)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := find(); len(found) > 0 {
		t.Errorf("new tables compare %v by a language's collation", found)
	}
	err = s.b.DB.Migrate(ctx, func(m engine.Migrator) error {
		return m.Exec(`ALTER TABLE once ALTER COLUMN id TYPE TEXT COLLATE "default", ALTER COLUMN hash TYPE TEXT COLLATE "default";
ALTER TABLE transfers ALTER COLUMN kind TYPE TEXT COLLATE "default"`)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"b", "A", "a", "B"} {
		if err := s.Commit(ctx, pay.Change{Once: &pay.Once{Key: key, Hash: "h", Object: key, At: time.UnixMicro(1)}}); err != nil {
			t.Fatal(err)
		}
	}
	// A comment makes it a different statement, which is prepared for the new columns.
	sorted := func(comment string) (keys string) {
		t.Helper()
		err := s.b.DB.Query(ctx, "SELECT string_agg(id, '' ORDER BY id) FROM once"+comment, nil, func(r engine.Row) error {
			return r.Scan(&keys)
		})
		if err != nil {
			t.Fatal(err)
		}
		return keys
	}
	if got := sorted(""); got != "aAbB" || len(find()) != 3 {
		t.Fatalf("the old tables sort %s and have %v: there is nothing to migrate", got, find())
	}
	collateBaseline := engine.PostgreSQL.SQL(regexp.MustCompile(`\{collate [^}]*\}`).FindString(schema.Baseline))
	err = s.b.DB.Migrate(ctx, func(m engine.Migrator) error { return m.Exec(collateBaseline) })
	if got := sorted(" -- again"); err != nil || got != "ABab" || len(find()) > 0 {
		t.Errorf("after the migration (%v) keys sort %s, and %v are left", err, got, find())
	}
}

// Disputes from before there were rows for them continue: their payments know the money that
// they hold or took.
func TestMigrationKeepsDisputes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		ctx := t.Context()
		s, err := Open(ctx, database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		scope := tenant.Scope{Merchant: "mer_1", Shop: "shp_1"}
		rate, err := money.ParseRate("1")
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
		usd := money.New(1000, money.USD)
		for id, status := range map[string]pay.ClaimStatus{"A": pay.ClaimNeedsEvidence, "B": pay.ClaimApproved, "C": pay.ClaimRejected, "D": pay.ClaimUnderReview} {
			p := pay.Payment{
				ID: pay.PaymentPrefix + id, Scope: scope, Version: 1, Status: pay.Chargeback, Price: pay.Price{Rate: rate, Amount: usd, Local: usd}, End: pay.PaymentEnd{Captured: 1},
				Attempts: []pay.Attempt{{Order: 1, Provider: "one", Status: pay.Approved}}, Times: pay.Times{Created: at, Completed: at}, Disputes: pay.Disputes{Any: true},
			}
			c := pay.Claim{ID: pay.ClaimPrefix + id, Scope: scope, Version: 1, Kind: pay.ChargebackClaim, Status: status, Payment: p.ID, Local: usd, USD: 1000}
			change := pay.Change{Payments: []pay.Payment{p}, Claims: []pay.Claim{c}}
			if !status.Terminal() {
				change.Claims[0].Frozen = 1000
			}
			if status.Pays() {
				change.Transfers = []ledger.Transfer{{
					ID: "tr_" + id + "-paid", Merchant: scope.Merchant, Kind: ledger.ChargebackPaid, Payment: p.ID, Claim: c.ID, Local: usd, At: at,
					Postings: []ledger.Posting{{Account: ledger.Frozen, Amount: -1000}, {Account: ledger.Chargebacks, Amount: 1000}},
				}}
			}
			if err := s.Commit(ctx, change); err != nil {
				t.Fatal(err)
			}
		}
		list, err := schema.Read(nil)
		if err != nil {
			t.Fatal(err)
		}
		ran := 0
		err = s.b.DB.Migrate(ctx, func(m engine.Migrator) error {
			if err := m.Exec("DROP INDEX claims_dispute; ALTER TABLE claims DROP COLUMN dispute"); err != nil {
				return err
			}
			for _, text := range list.Texts() {
				if strings.Contains(text, "INDEX claims_dispute") {
					ran++
					if err := m.Exec(s.b.DB.Dialect().SQL(text)); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil || ran != 1 {
			t.Fatalf("%d migrations keep disputes (%v), want 1", ran, err)
		}
		for id, want := range map[string][]pay.Taking{
			"A": {{Claim: "CLM-A", USD: 1000, Open: true}}, "B": {{Claim: "CLM-B", USD: 1000}}, "C": nil, "D": {{Claim: "CLM-D", USD: 1000, Open: true}},
		} {
			p, err := s.Payments().Any(ctx, pay.PaymentPrefix+id)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p.Disputes.Takings, want) {
				t.Errorf("payment %s has the disputes %+v, want %+v", id, p.Disputes.Takings, want)
			}
			claims, err := s.Claims().Of(ctx, []string{p.ID})
			if err != nil {
				t.Fatal(err)
			}
			if due := !claims[0].DueAt.IsZero(); due != (id == "D") {
				t.Errorf("claim %s is due again: %v", id, due)
			}
			// The provider's ruling applies to the existing claim.
			p.Stored = p.Status
			_, change := pay.Notice{ID: "n", Account: "one", Reference: p.Reference(1), DisputeID: "dp_1", Ruling: pay.DisputeLost}.Contest(p, claims, [2]string{"CLM-new"}, at)
			verdict, opened := change.Notices[0].Verdict, len(change.Claims) > 0 && change.Claims[0].ID == "CLM-new"
			if id == "B" && verdict != pay.Ignored || id != "B" && verdict != pay.Applied || opened != (id == "C") {
				t.Errorf("claim %s, and it is lost: %s, %+v", id, verdict, change.Claims)
			}
		}
	})
}
