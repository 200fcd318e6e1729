package check_test

import (
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/store/check"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Somebody has said of every column of every table what finds a changed value in it, or why nothing needs to. A new column of
// a table whose rows have hashes is covered by them; every other one needs a line in answers.go.
func TestEveryColumnHasAnAnswer(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		_, db := opened(t, database)
		columns := map[string][]string{}
		text := `SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'`
		if db.Dialect() == engine.PostgreSQL {
			text = `SELECT CAST(c.table_name AS TEXT), CAST(c.column_name AS TEXT) FROM information_schema.columns AS c
JOIN information_schema.tables AS t ON t.table_name = c.table_name AND t.table_schema = c.table_schema
WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'`
		}
		err := db.Snapshot(t.Context(), engine.ByAnyPlan, func(ask engine.Asking) error {
			return ask(text, nil, func(r engine.Row) error {
				var table, column string
				err := r.Scan(&table, &column)
				columns[table] = append(columns[table], column)
				return err
			})
		})
		if err != nil || len(columns) < 60 {
			t.Fatalf("found only %d tables: %v", len(columns), err)
		}
		free := 0
		for table, names := range columns {
			for _, column := range names {
				a, ok := check.AnswerOf(table, column)
				if !ok || a.Why == "" {
					t.Errorf("nobody has said what finds a changed value in %s.%s", table, column)
				}
				if a.How == check.Free {
					free++
				}
			}
		}
		if free > 75 {
			t.Errorf("%d columns are free", free)
		}
		for _, key := range check.AnswersWithout(columns) {
			t.Errorf("there is an answer for %s, and no such column", key)
		}
		if a, ok := check.AnswerOf("payments", "doc"); !ok || a.How != check.ByHash {
			t.Errorf("the documents of payments are covered by %v", a)
		}
		if _, ok := check.AnswerOf("balances_of_tomorrow", "amount"); ok {
			t.Error("a table that nobody knows has an answer")
		}
		if !slices.Contains(columns["payments"], "row_hash") {
			t.Error("rows of payments have no hash")
		}
	})
}
