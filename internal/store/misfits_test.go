package store

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/payments"
)

// misfit is a payment in a scope with that many notices that did not fit it.
func misfit(t *testing.T, s *Store, scope merchants.Scope, id string, status pay.Status, cents int64, notices int) []pay.KeptNotice {
	t.Helper()
	rate, err := money.ParseRate("1")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p := pay.Payment{
		ID: pay.PaymentPrefix + id, Scope: scope, Version: 1, Status: status, Price: pay.Price{Rate: rate, Amount: money.New(cents, money.USD), Local: money.New(cents, money.USD)}, Work: pay.PaymentWork{DueAt: at},
		Way:   pay.Way{RailID: "sbx_card", Method: "card", Country: "USA"},
		Times: pay.Times{Created: at, Updated: at},
	}
	change := pay.Change{Payments: []pay.Payment{p}}
	for i := range notices {
		change.Notices = append(change.Notices, pay.KeptNotice{
			ID: fmt.Sprintf("one/%s-%d", id, i), Account: "one", Payment: p.ID, Verdict: pay.Mismatched, Body: []byte("{}"), At: at.Add(time.Duration(i) * time.Minute),
		})
	}
	change.Notices = append(change.Notices, pay.KeptNotice{ID: "one/fits-" + id, Account: "one", Payment: p.ID, Verdict: pay.Applied, Body: []byte("{}"), At: at})
	if err := s.Commit(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	return change.Notices[:notices]
}

// A balance warns of the merchant's own open notices in its environment, and
// reads no others for that.
func TestMisfitsAreTheMerchantsOpenOnes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		ctx := t.Context()
		s, err := Open(ctx, database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		acme, live, other := merchants.Scope{Merchant: "mer_1", Shop: "shp_1"}, merchants.Scope{Merchant: "mer_1", Shop: "shp_1", Live: true}, merchants.Scope{Merchant: "mer_2", Shop: "shp_2"}
		open := misfit(t, s, acme, "A", pay.Pending, 1000, 2)
		second := misfit(t, s, acme, "B", pay.Processing, 500, 1)
		misfit(t, s, live, "C", pay.Pending, 70, 1)
		misfit(t, s, other, "D", pay.Pending, 9, 3)
		is := func(scope merchants.Scope, want payments.Mismatched) {
			t.Helper()
			if got, err := s.Notices().Mismatched(ctx, scope); err != nil || got != want {
				t.Errorf("%s, live %v: %+v (%v), want %+v", scope.Merchant, scope.Live, got, err, want)
			}
		}
		is(acme, payments.Mismatched{Count: 3, Since: open[0].At, USD: 1500})
		is(live, payments.Mismatched{Count: 1, Since: open[0].At, USD: 70})
		is(other, payments.Mismatched{Count: 3, Since: open[0].At, USD: 9})
		is(merchants.Scope{Merchant: "mer_3"}, payments.Mismatched{})

		for _, r := range []pay.KeptNotice{open[0], second[0]} {
			change, err := r.Close("seen to", r.At.Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Commit(ctx, change); err != nil {
				t.Fatal(err)
			}
		}
		is(acme, payments.Mismatched{Count: 1, Since: open[1].At, USD: 1000})
		if list, err := s.Notices().Unclosed(ctx, "", 10); err != nil || len(list) != 5 || list[0].Verdict != pay.Mismatched {
			t.Errorf("the operator sees %d open notices (%v), want 5", len(list), err)
		}
		broken := func() (found []string) {
			t.Helper()
			list, err := s.Check(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range list {
				if strings.HasPrefix(b.Invariant, "what does not fit its payment") {
					found = append(found, b.ID)
				}
			}
			return found
		}
		if found := broken(); len(found) > 0 {
			t.Errorf("broken: %v", found)
		}
		for _, harm := range []string{"DELETE FROM misfits WHERE id = 'one/A-1'", "UPDATE misfits SET merchant = 'mer_9' WHERE id = 'one/C-0'",
			"INSERT INTO misfits (id, merchant, live, payment, amount, at) VALUES ('one/A-0', 'mer_1', FALSE, 'TXN-A', 1000, 1)"} {
			before := len(broken())
			if err := s.b.DB.Migrate(ctx, func(m engine.Migrator) error { return m.Exec(harm) }); err != nil {
				t.Fatal(err)
			}
			if found := broken(); len(found) != before+1 {
				t.Errorf("after %s: broken %v", harm, found)
			}
		}
	})
}

// planOf returns the plan of a query.
func planOf(t *testing.T, s *Store, query string, args ...any) string {
	t.Helper()
	explain, column := "EXPLAIN QUERY PLAN ", 3
	if _, ok := s.b.DB.(*engine.Postgres); ok {
		explain, column = "EXPLAIN ", 0
	}
	var plan []string
	err := s.b.DB.Query(t.Context(), explain+s.b.Text(query), args, func(r engine.Row) error {
		into := make([]any, column+1)
		for i := range into {
			into[i] = new(any)
		}
		err := r.Scan(into...)
		plan = append(plan, fmt.Sprint(*into[column].(*any)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "\n")
}

// However many notices others have, the balance finds its own by an index.
func TestBalanceFindsItsMisfitsByIndex(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		ctx := t.Context()
		s, err := Open(ctx, database, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for i := range 40 {
			misfit(t, s, merchants.Scope{Merchant: fmt.Sprint("mer_", i), Shop: "shp_1"}, fmt.Sprint("M", i), pay.Pending, 100, 50)
		}
		if pg, ok := s.b.DB.(*engine.Postgres); ok {
			if err := pg.Migrate(ctx, func(m engine.Migrator) error { return m.Exec("ANALYZE misfits") }); err != nil {
				t.Fatal(err)
			}
		}
		plan := planOf(t, s, payments.SelectMisfits, "mer_7", false)
		if text := plan; !strings.Contains(text, "misfits_merchant") || strings.Contains(text, "receipts") || strings.Contains(text, "Seq Scan") {
			t.Errorf("the balance's warning reads:\n%s", text)
		}
	})
}
