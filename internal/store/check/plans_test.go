package check_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/check"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// opened migrates a database and opens a second connection to it, because a Store shares its own with nobody.
func opened(t *testing.T, database string) (*store.Store, engine.DB) {
	t.Helper()
	s, err := store.Open(t.Context(), database, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	db, err := engine.Open(t.Context(), database, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return s, db
}

// plansOf returns the plans of all statements about a part of a table, with the settings that they run with.
func plansOf(t *testing.T, db engine.DB, each func(text, plan string)) {
	t.Helper()
	explain, column := "EXPLAIN QUERY PLAN ", 3
	if db.Dialect() == engine.PostgreSQL {
		explain, column = "EXPLAIN ", 0
	}
	texts := check.Explain()
	for _, q := range texts {
		var plan []string
		err := db.Snapshot(t.Context(), engine.ByIndex, func(ask engine.Asking) error {
			return ask(explain+db.Dialect().Texts().Of(q.Text), q.Args, func(r engine.Row) error {
				into := make([]any, column+1)
				for i := range into {
					into[i] = new(any)
				}
				err := r.Scan(into...)
				plan = append(plan, fmt.Sprint(*into[column].(*any)))
				return err
			})
		})
		if err != nil {
			t.Fatalf("%s: %v", q.Text, err)
		}
		each(q.Text, strings.Join(plan, "\n"))
	}
	if len(texts) < 60 {
		t.Errorf("only %d statements were explained", len(texts))
	}
}

// A check reads a bounded number of rows in a snapshot, and finds related rows by an index. If it read a
// whole table for each part or for each row, it would never end on a large one.
func TestCheckFindsRowsByIndex(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		_, db := opened(t, database)
		plansOf(t, db, func(text, plan string) {
			lines := strings.Split(plan, "\n")
			for at, line := range lines {
				line = strings.TrimSpace(line)
				whole := strings.Contains(line, "Seq Scan on") || strings.Contains(line, "AUTOMATIC")
				if strings.Contains(line, "Index") && strings.Contains(line, "Scan using") {
					whole = at+1 == len(lines) || !strings.Contains(lines[at+1], "Index Cond:")
				}
				if name, isScan := strings.CutPrefix(line, "SCAN "); isScan { // SQLite; the table of the part itself is scanned
					whole = !slices.Contains([]string{"j", "c", "s", "r", "m", "p", "l", "CONSTANT"}, strings.Fields(name)[0]) || strings.Contains(line, "USING")
				}
				if strings.HasPrefix(line, "SCAN ") && strings.Contains(line, " VIRTUAL TABLE ") { // the elements of one row's JSON
					whole = false
				}
				if line == "SCAN f" || strings.Contains(line, "Seq Scan on facts") { // they are there until they are added up, for seconds
					whole = false
				}
				if strings.Contains(line, "resets_running") { // that index has the sandboxes alone that are emptied just now
					whole = false
				}
				if whole {
					t.Errorf("%s\nreads more than its part:\n%s", text, plan)
					break
				}
			}
		})
	})
}

// interrupted is an engine with every other snapshot canceled by others.
type interrupted struct {
	engine.Reads
	begun, ended int
	code         string
	always       bool
}

func (i *interrupted) Snapshot(ctx context.Context, how engine.Lookups, read func(engine.Asking) error) error {
	i.begun++
	if i.begun%2 == 0 && !i.always {
		return i.Reads.Snapshot(ctx, how, read)
	}
	i.ended++
	return i.Reads.Snapshot(ctx, how, func(ask engine.Asking) error {
		n := 0
		err := read(func(text string, args []any, each func(engine.Row) error) error {
			if n++; n > 2 { // in the middle
				return &pgconn.PgError{Code: i.code, Message: "canceling statement due to conflict with recovery"}
			}
			return ask(text, args, each)
		})
		if err == nil {
			err = &pgconn.PgError{Code: i.code, Message: "canceling statement due to conflict with recovery"}
		}
		return err
	})
}

// A standby cancels a snapshot that blocks it. The check repeats the snapshot, and reports its findings
// once. If every snapshot is canceled, the check fails.
func TestCheckRepeatsCanceledSnapshots(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		ctx := t.Context()
		s, db := opened(t, database)
		err := db.Migrate(ctx, func(m engine.Migrator) error {
			return m.Exec(`INSERT INTO shops (id, version, merchant, name, slug, created_at, brand, schemes, row_hash) VALUES ('shp_1', 1, 'mer_1', 'A', 'a', 1, '{}', '[]', '');
INSERT INTO transfers (id, merchant, live, kind, payment, claim, amount_local, currency_local, at, postings, settles_at, memo)
  VALUES ('tr_A-out', 'mer_1', TRUE, 'withdrawal', '', '', 0, 'USD', 1, '{"available":-5}', 0, '');
INSERT INTO balances (merchant, live, pending, available, frozen, reserve, suspense, receivable, platform_fees, provider_fees, flat_fees,
  network_fees, fee_taxes, chargeback_fees, refunds, chargebacks, in_transit, paid_out, withdrawal_fees, withdrawal_taxes, movements, float, float_committed, float_paid, float_funding,
  rounding, adjustments) VALUES ('mer_1', TRUE, 0, -4, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`)
		})
		if err != nil {
			t.Fatal(err)
		}
		want, err := s.Check(ctx)
		if err != nil || len(want) < 5 {
			t.Fatalf("the check finds %v, %v", want, err)
		}
		for _, code := range []string{"40001", "40P01", "57P01"} {
			i := &interrupted{Reads: db, code: code}
			got, err := check.Fast(ctx, i, db.Dialect().Texts())
			if err != nil || !slices.Equal(got.Broken, want) || i.ended < 20 {
				t.Errorf("%d snapshots were canceled by %s: %v, found\n%v, want\n%v", i.ended, code, err, got.Broken, want)
			}
		}
		i := &interrupted{Reads: db, code: "42P01"}
		if _, err := check.Fast(ctx, i, db.Dialect().Texts()); err == nil || i.begun != 1 {
			t.Errorf("a snapshot with an error of its own was begun %d times: %v", i.begun, err)
		}
		i = &interrupted{Reads: db, code: "40001", always: true}
		_, err = check.Fast(ctx, i, db.Dialect().Texts())
		if e, ok := errors.AsType[*pgconn.PgError](err); !ok || e.Code != "40001" || i.begun != engine.SnapshotTries {
			t.Errorf("snapshots that are always canceled: %d tries, %v", i.begun, err)
		}
	})
}
