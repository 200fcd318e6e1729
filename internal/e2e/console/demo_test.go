package console

import (
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// aDemo returns a demo merchant of a node that starts.
func aDemo(t *testing.T, s *harness.Instance) *appmerchants.Demo {
	t.Helper()
	d, err := s.App.Onboarding.NewDemo(appmerchants.NewMerchant{Name: "Demo Shop", Email: "demo@example.com", Industry: "retail", Tier: merchants.Standard})
	harness.Must(t, err)
	return d
}

// A node that asks again hears again that the demo merchant is its own, and another node that it is not.
func TestDemoMerchantIsMadeOnce(t *testing.T) {
	harness.Each(t, func(t *testing.T, s *harness.Instance) {
		ours, others := aDemo(t, s), aDemo(t, s)
		for range 3 {
			if made, err := ours.Create(ctx); !made || err != nil {
				t.Errorf("the demo merchant's own node heard %t, %v", made, err)
			}
			if made, err := others.Create(ctx); made || err != nil {
				t.Errorf("another node heard %t, %v", made, err)
			}
		}
		if n, err := s.App.Store.Merchants().Count(ctx); n != 1 || err != nil {
			t.Errorf("%d merchants, %v", n, err)
		}
	})
}

// A demo merchant that was not written, because the database's disk was full, is not made any more once somebody else
// has made a merchant.
func TestDemoMerchantComesFirstOrNever(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, dbtest.Postgres(t), &harness.Clock{})
	s.Log.Expect("the database is away")
	s.Log.Expect("store.down")
	db, err := sql.Open("pgx", s.Database)
	harness.Must(t, err)
	defer db.Close()
	exec := func(statement string) {
		t.Helper()
		_, err := db.Exec(statement)
		harness.Must(t, err)
	}
	exec(`CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION USING ERRCODE = ''53100''; END'`)
	exec(`CREATE TRIGGER no_room BEFORE INSERT ON merchants FOR EACH ROW EXECUTE FUNCTION no_room()`)
	d := aDemo(t, s)
	if made, err := d.Create(ctx); made || err == nil {
		t.Fatalf("a full disk: %t, %v", made, err)
	}
	exec(`DROP TRIGGER no_room ON merchants`)
	harness.Eventually(t, "the database to be back", func() bool { return s.App.Store.Writes(ctx) == nil })
	_, err = s.App.Onboarding.CreateMerchant(ctx, s.App.Onboarding.Self(), appmerchants.NewMerchant{Name: "Acme", Email: "pay@acme.example", Industry: "retail"})
	harness.Must(t, err)
	if made, err := d.Create(ctx); made || err != nil {
		t.Errorf("the demo merchant in a database with another merchant: %t, %v", made, err)
	}
}
