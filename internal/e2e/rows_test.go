package e2e

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// rows returns every sandbox row of a shop, and those of its merchant that are
// no shop's, each as a text, straight from the database.
func rows(t *testing.T, s *Instance, o Client) map[string]bool {
	t.Helper()
	Eventually(t, "nothing of the tests' is on its way", func() bool {
		_, err := s.App.Webhooks.Dispatch(ctx)
		Must(t, err)
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
		t.Fatalf("found only the tables %v", columns)
	}
	for table, has := range columns {
		if !has["merchant"] || table == "blocks" || table == "unsealed" { // seals go on by themselves
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
		t.Fatalf("%s has no rows", o.Shop.ID)
	}
	return all
}

// columnsOf lists tables and their columns; true is PostgreSQL.
var columnsOf = map[bool]string{
	true:  "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'",
	false: "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table'",
}

// Open returns a function that reads rows, their values with \x1f between
// them.
func (s *Instance) Open(t *testing.T) (query func(text string) []string, closeDB func()) {
	t.Helper()
	if path, ok := strings.CutPrefix(s.Database, "sqlite:"); ok {
		db, err := sql.Open("sqlite", path)
		Must(t, err)
		return func(text string) []string { return querySQL(t, db, text) }, func() { Must(t, db.Close()) }
	}
	conn, err := pgx.Connect(ctx, s.Database)
	Must(t, err)
	return func(text string) (list []string) {
		t.Helper()
		rows, err := conn.Query(ctx, text)
		Must(t, err)
		defer rows.Close()
		for rows.Next() {
			values, err := rows.Values()
			Must(t, err)
			list = append(list, joined(values))
		}
		Must(t, rows.Err())
		return list
	}, func() { Must(t, conn.Close(context.Background())) }
}

func querySQL(t *testing.T, db *sql.DB, text string) (list []string) {
	t.Helper()
	rows, err := db.QueryContext(ctx, text)
	Must(t, err)
	defer rows.Close()
	names, err := rows.Columns()
	Must(t, err)
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		Must(t, rows.Scan(into...))
		list = append(list, joined(values))
	}
	Must(t, rows.Err())
	return list
}

func joined(values []any) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, fmt.Sprint(v))
	}
	return strings.Join(parts, "\x1f")
}
