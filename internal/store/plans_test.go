package store

import (
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// A plan that was made while a table was empty is kept when the table has grown, and a
// table that rows only pass through is empty whenever statistics are taken. So no
// statement of a batch may read a table or an index from end to end, however few rows the
// planner expects: that once doubled the time that PostgreSQL needed for a payment.
// And a statement with {unless lost} must evaluate that before it reads a row.
func TestBatchesFindRowsByIndex(t *testing.T) {
	ctx := t.Context()
	s, err := Open(ctx, dbtest.Postgres(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := s.b.DB.(*engine.Postgres).Connected.Load().Writers.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	// Only then does the planner expect no rows.
	if _, err := conn.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		t.Fatal(err)
	}
	var texts []string
	asks := map[string]bool{}
	for _, query := range engine.Statements {
		writes := !strings.HasPrefix(strings.TrimSpace(query), "SELECT") || strings.Contains(query, "{for update}")
		rows := strings.Contains(query, "{rows:") || strings.Contains(query, "{unless lost}")
		if strings.Contains(query, "{lost ") || writes && rows {
			texts = append(texts, s.b.Text(query))
			asks[s.b.Text(query)] = strings.Contains(query, "{unless lost}")
			if counted := engine.Counted(s.b.Text(query)); counted != "" {
				texts = append(texts, counted)
				asks[counted] = strings.Contains(query, "{unless lost}")
			}
		}
	}
	for i, text := range texts {
		name := fmt.Sprint("plan", i)
		described, err := conn.Conn().Prepare(ctx, name, text)
		if err != nil {
			t.Fatal(err)
		}
		nulls := strings.TrimSuffix(strings.Repeat("NULL, ", len(described.ParamOIDs)), ", ")
		lines, err := conn.Query(ctx, "EXPLAIN EXECUTE "+name+" ("+nulls+")")
		if err != nil {
			t.Fatal(err)
		}
		var plan []string
		err = engine.Drain(lines, func(r engine.Row) error {
			var line string
			err := r.Scan(&line)
			plan = append(plan, line)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		first := func(line string) bool {
			return strings.Contains(line, "One-Time Filter: (current_setting('cascada.lost'")
		}
		if asks[text] && !slices.ContainsFunc(plan, first) {
			t.Errorf("%s\nevaluates {unless lost} in a way that does not stop it:\n%s", text, strings.Join(plan, "\n"))
		}
		for at, line := range plan {
			wholeIndex := strings.Contains(line, "Index") && strings.Contains(line, "Scan using") &&
				(at+1 == len(plan) || !strings.Contains(plan[at+1], "Index Cond:"))
			if wholeIndex || strings.Contains(line, "Seq Scan on") {
				t.Errorf("%s\nreads more rows than it returns:\n%s", text, strings.Join(plan, "\n"))
				break
			}
		}
	}
	if len(texts) < 60 {
		t.Errorf("only %d statements were explained", len(texts))
	}
}

// SQLite may prefer the index by time, which has the order of the list, if statistics were taken while there were no
// deliveries. Then each kind reads all deliveries of the endpoint: a page took 20 seconds with a million of them.
func TestDeliveriesOfAKindAreReadByTheirIndex(t *testing.T) {
	ctx, db := t.Context(), emptySQLite(t)
	if _, err := db.ExecContext(ctx, "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, text := range engine.Statements {
		if !strings.Contains(text, "AS kind0") || !strings.Contains(text, "FROM deliveries") {
			continue
		}
		found++
		for _, step := range planned(t, db, engine.SQLite.SQL(text)) {
			if strings.Contains(step, "deliveries") && !strings.Contains(step, "deliveries_list (subscription=? AND status=? AND type=?") {
				t.Fatalf("a step of the plan is %s", step)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d statements read kinds, want 2", found)
	}
}

// Events and deliveries of one object are found by their ids, which are made from its id, with statistics and without:
// nothing reads all events of a shop. The page of a payment took 150 milliseconds with a million of them.
func TestEventsOfAnObjectAreFoundByTheirIDs(t *testing.T) {
	ctx, db := t.Context(), emptySQLite(t)
	step := regexp.MustCompile(`(SCAN|SEARCH) (events|deliveries|e|d)\b.*`)
	for _, first := range []string{"SELECT 1", "ANALYZE"} {
		if _, err := db.ExecContext(ctx, first); err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, text := range engine.Statements {
			if !strings.HasPrefix(strings.TrimSpace(text), "SELECT") || !regexp.MustCompile(`\{named (e\.|d\.)?id (evt|wd)_ (\$|o\.)`).MatchString(text) {
				continue
			}
			found++
			for _, line := range planned(t, db, engine.SQLite.SQL(text)) {
				if s := step.FindString(line); s != "" && !strings.Contains(s, "_1 (id>? AND id<?)") {
					t.Errorf("%s\nhas the step %s", text, s)
				}
			}
		}
		if found != 7 {
			t.Errorf("%d statements read what is named after an object, want 7", found)
		}
	}
}

// emptySQLite opens an SQLite database with our tables and nothing in them.
func emptySQLite(t *testing.T) *sql.DB {
	t.Helper()
	database := dbtest.SQLite(t)
	s, err := Open(t.Context(), database, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	db, err := sql.Open("sqlite", strings.TrimPrefix(database, "sqlite:"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// planned returns the steps of SQLite's plan of a statement.
func planned(t *testing.T, db *sql.DB, text string) (steps []string) {
	t.Helper()
	most := 0
	for _, m := range regexp.MustCompile(`\$(\d+)`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		most = max(most, n)
	}
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, make([]any, most)...)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		t.Fatal(err)
	}
	return steps
}
