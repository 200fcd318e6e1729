package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store/engine"
	"github.com/cascadapay/cascada/internal/store/schema"
)

// next is the migrations of the next version: every kind of migration there is.
func next() fs.FS {
	list, err := schema.Read(nil)
	if err != nil {
		panic(err)
	}
	files := fstest.MapFS{}
	for i, file := range []struct{ name, text string }{
		{"notes_of_payments.expand", "ALTER TABLE payments ADD COLUMN note TEXT NOT NULL DEFAULT '';"},
		{"fill_the_notes.expand", "-- again and again\nUPDATE payments SET note = 'none' WHERE id IN (SELECT id FROM payments WHERE note = '' LIMIT 2)"},
		{"find_by_note.expand", "-- by itself\nDROP INDEX {concurrently} IF EXISTS payments_note;\nCREATE INDEX {concurrently} payments_note ON payments (note);\n"},
		{"only_new_ones.contract", "CREATE TABLE only_new (id TEXT NOT NULL PRIMARY KEY);"},
		{"after_the_contract.expand", "CREATE TABLE later (id TEXT NOT NULL PRIMARY KEY);"},
	} {
		files[fmt.Sprintf("%04d_%s.sql", len(list)+1+i, file.name)] = &fstest.MapFile{Data: []byte(file.text)}
	}
	return files
}

func opened(t *testing.T, database string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), database, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !s.closed {
			s.Close()
		}
	})
	return s
}

func pendingPayment(n int) pay.Payment {
	rate, err := money.ParseRate("1")
	if err != nil {
		panic(err)
	}
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	return pay.Payment{
		ID: fmt.Sprintf("%s%026d", pay.PaymentPrefix, n), Scope: merchants.Scope{Merchant: "mer_1", Shop: "shp_1"}, Version: 1, Status: pay.Pending, Price: pay.Price{Rate: rate,
			Amount: money.New(100, money.USD), Local: money.New(100, money.USD)}, Way: pay.Way{RailID: "sbx_card", Method: "card", Country: "USA"},
		Times: pay.Times{Created: at, Updated: at},
	}
}

// state returns the migrations that are left, by name, as operators see them.
func state(t *testing.T, database string, more fs.FS) (left []string) {
	t.Helper()
	list, err := schema.List(t.Context(), database, more)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range list {
		if !m.Done {
			left = append(left, m.Name)
		}
	}
	return left
}

// An older program continues beside an expand migration. A contract migration waits until it has
// ended, and bars it if it only slept.
func TestOlderProgramsContinueUntilTheContract(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		ctx := t.Context()
		old := opened(t, database, Options{})
		for i := range 5 {
			if err := old.Commit(ctx, pay.Change{Payments: []pay.Payment{pendingPayment(i)}}); err != nil {
				t.Fatal(err)
			}
		}
		if left := state(t, database, next()); len(left) != 5 {
			t.Errorf("left are %v", left)
		}
		if _, err := Open(ctx, database, Options{Schema: schema.Keep, Migrations: next()}); !errors.Is(err, engine.ErrOldSchema) {
			t.Errorf("a newer command on an older database: %v", err)
		}
		young := opened(t, database, Options{Migrations: next()})
		if left := state(t, database, next()); !slices.Equal(left, []string{"only new ones"}) {
			t.Errorf("beside an older program %v are left", left)
		}
		n := 0
		if err := young.b.DB.Query(ctx, "SELECT count(*) FROM payments WHERE note = 'none'", nil, func(r engine.Row) error { return r.Scan(&n) }); err != nil || n != 5 {
			t.Errorf("%d notes were filled (%v), want 5", n, err)
		}
		for i, s := range []*Store{old, young} {
			if err := s.Commit(ctx, pay.Change{Payments: []pay.Payment{pendingPayment(10 + i)}}); err != nil {
				t.Errorf("program %d: %v", i, err)
			}
		}
		again := opened(t, database, Options{}) // an older node starts
		again.Close()
		waits, err := young.Contract(ctx, 0)
		if err != nil || waits == nil || !strings.Contains(waits.Error(), "older programs are alive") {
			t.Errorf("beside an older program the contract waits for %v (%v)", waits, err)
		}
		// It sleeps for longer than a node counts as active.
		if err := young.b.DB.Migrate(ctx, func(m engine.Migrator) error {
			return m.Exec(fmt.Sprintf("UPDATE committers SET at = at - %d", (90 * time.Second).Microseconds()))
		}); err != nil {
			t.Fatal(err)
		}
		if waits, err := young.Contract(ctx, 0); waits != nil || err != nil {
			t.Fatalf("the contract waits for %v (%v)", waits, err)
		}
		if left := state(t, database, next()); len(left) > 0 {
			t.Errorf("after the contract %v are left", left)
		}
		if err := old.Commit(ctx, pay.Change{Payments: []pay.Payment{pendingPayment(20)}}); !errors.Is(err, engine.ErrDown) {
			t.Errorf("an older program wakes up and writes: %v", err)
		}
		if err := young.Commit(ctx, pay.Change{Payments: []pay.Payment{pendingPayment(21)}}); err != nil {
			t.Errorf("the newer program: %v", err)
		}
		for _, schema := range []schema.Mode{schema.Migrate, schema.Make, schema.Keep} {
			if _, err := Open(ctx, database, Options{Schema: schema}); err == nil || !strings.Contains(err.Error(), "start a newer one") {
				t.Errorf("an older program starts after the contract: %v", err)
			}
		}
	})
}

// A contract migration does not wait for a program that has shut down.
func TestContractFollowsTheLastOlderProgram(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		ctx := t.Context()
		old := opened(t, database, Options{})
		if err := old.Commit(ctx, pay.Change{}); err != nil {
			t.Fatal(err)
		}
		young := opened(t, database, Options{Migrations: next()})
		old.Close()
		if waits, err := young.Contract(ctx, 0); waits != nil || err != nil {
			t.Errorf("the contract waits for %v (%v)", waits, err)
		}
		if broken, err := young.Check(ctx); err != nil || len(broken) > 0 {
			t.Errorf("check: %v %v", broken, err)
		}
	})
}

// Commands create a schema in an empty database, or change nothing.
func TestOnlySomeCommandsChangeTheSchema(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, database string) {
		if _, err := Open(t.Context(), database, Options{Schema: schema.Keep}); !errors.Is(err, engine.ErrOldSchema) {
			t.Errorf("an empty database: %v", err)
		}
		if left := state(t, database, nil); !slices.Contains(left, "baseline") {
			t.Errorf("of an empty database %v are left: somebody migrated it", left)
		}
		opened(t, database, Options{Schema: schema.Make})
		if left := state(t, database, nil); len(left) > 0 {
			t.Errorf("%v are left", left)
		}
		if _, err := Open(t.Context(), database, Options{Schema: schema.Make, Migrations: next()}); !errors.Is(err, engine.ErrOldSchema) {
			t.Errorf("a command that may create a schema migrates an older one: %v", err)
		}
	})
}

// All nodes of a rolling upgrade may start at once.
func TestNodesMigrateOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		opened(t, database, Options{}).Close()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				s, err := Open(context.Background(), database, Options{Migrations: next()})
				if err != nil {
					t.Error(err)
					return
				}
				defer s.Close()
				if waits, err := s.Contract(context.Background(), 0); err != nil {
					t.Errorf("contract: %v, %v", waits, err)
				}
			})
		}
		all.Wait()
	})
}

// A migration that must wait for a table lets the statements pass that queue behind it.
func TestMigrationDelaysNobody(t *testing.T) {
	ctx := t.Context()
	database := dbtest.Postgres(t)
	opened(t, database, Options{}).Close()
	holder, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(context.Background())
	tx, err := holder.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, "SELECT count(*) FROM payments"); err != nil { // and keeps its lock
		t.Fatal(err)
	}
	reader, err := pgx.Connect(ctx, database)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close(context.Background())
	done := make(chan error, 1)
	go func() {
		s, err := Open(context.Background(), database, Options{Migrations: next()})
		if err == nil {
			s.Close()
		}
		done <- err
	}()
	// It gives up a few times; statements in between succeed.
	for range 20 {
		bounded, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := reader.Exec(bounded, "SELECT count(*) FROM payments")
		cancel()
		if err != nil {
			t.Fatalf("a reader waits behind a migration that waits: %v", err)
		}
		select {
		case err := <-done:
			t.Fatalf("the migration ended while a table was held: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the migration, when the table was free: %v", err)
	}
}

// Repair corrects totals that older programs left wrong, while payments are created.
func TestRepairCountsAgain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		ctx := t.Context()
		s := opened(t, database, Options{})
		for i := range 20 {
			if err := s.Commit(ctx, pay.Change{Payments: []pay.Payment{pendingPayment(i)}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.RollUp(ctx, time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		if err := s.b.DB.Migrate(ctx, func(m engine.Migrator) error {
			return m.Exec(`UPDATE counters SET n = n + 3 WHERE day >= 0;
UPDATE counters SET n = n - 2 WHERE day < 0;
INSERT INTO counters (shop, live, day, rail, country, status, method, n, rolled) VALUES ('shp_1', FALSE, 5, 'x', 'USA', 'pending', 'card', 7, 7);
INSERT INTO delivery_counters (subscription, status, type, n, last_at) VALUES ('wh_1', 'delivered', 'payment.completed', 4, 0);
INSERT INTO rollups (shop, live, dimension, day, value, outcome, n, amount, fees) VALUES ('shp_1', FALSE, 'all', 5, '', 'paid', 7, 700, 7)`)
		}); err != nil {
			t.Fatal(err)
		}
		miscounted := func() (rules []string) {
			t.Helper()
			broken, err := s.Check(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range broken {
				if strings.Contains(b.Invariant, "count") || strings.Contains(b.Invariant, "rolled up") {
					rules = append(rules, b.String())
				}
			}
			return rules
		}
		if found := miscounted(); len(found) < 6 {
			t.Fatalf("check finds %v: there is nothing to repair", found)
		}
		var sell sync.WaitGroup
		enough := make(chan struct{})
		for hand := range 4 {
			sell.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-enough:
						return
					default:
					}
					if err := s.Commit(ctx, pay.Change{Payments: []pay.Payment{pendingPayment(1_000_000*(hand+1) + i)}}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		mended, err := s.RepairCounters(ctx)
		for range 3 { // several at once, and again: nothing is counted twice
			sell.Go(func() {
				if list, err := s.RepairCounters(ctx); err != nil || len(list) > 0 {
					t.Errorf("a second repair: %v, %v", list, err)
				}
			})
		}
		time.AfterFunc(300*time.Millisecond, func() { close(enough) })
		sell.Wait()
		if err != nil || len(mended) < 4 {
			t.Errorf("mended: %v (%v)", mended, err)
		}
		if found := miscounted(); len(found) > 0 {
			t.Errorf("after the repair: %v", found)
		}
	})
}
