package access

import (
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/e2e/harness"
)

// rows returns from the database, as texts, every sandbox row of a shop, and of its merchant in
// tables without a shop.
func rows(t *testing.T, s *harness.Instance, o harness.Client) map[string]bool {
	t.Helper()
	harness.Eventually(t, "no delivery waits", func() bool {
		_, err := s.App.Webhooks.Dispatch(ctx)
		harness.Must(t, err)
		return s.Due(t).IsZero()
	})
	all := map[string]bool{}
	query, closeDB := s.Open(t)
	defer closeDB()
	columns := map[string]map[string]bool{}
	for _, row := range query(columnsOf[strings.HasPrefix(s.Database, "postgres")]) {
		table, column, _ := strings.Cut(row, "\x1f")
		if columns[table] == nil {
			columns[table] = map[string]bool{}
		}
		columns[table][column] = true
	}
	if len(columns) < 10 {
		t.Fatalf("the database has only the tables %v", columns)
	}
	for table, has := range columns {
		if !has["merchant"] || table == "blocks" || table == "unsealed" { // the service seals rows at any time
			continue
		}
		where := "merchant = '" + o.Merchant.ID + "'"
		if has["shop"] {
			where += " AND shop = '" + o.Shop.ID + "'"
		}
		if has["live"] {
			where += " AND NOT live"
		}
		for _, row := range query("SELECT * FROM " + table + " WHERE " + where) {
			all[table+" "+strings.ReplaceAll(row, "\x1f", "|")] = true
		}
	}
	if len(all) == 0 {
		t.Fatalf("the database has no rows of the shop %s", o.Shop.ID)
	}
	return all
}

// columnsOf has the query for all tables and their columns. The key true is PostgreSQL, false is
// SQLite.
var columnsOf = map[bool]string{
	true:  "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'",
	false: "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table'",
}
