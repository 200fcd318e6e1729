package harness

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Exec returns a function that writes to the database without the service, and one that closes the
// connection.
func (s *Instance) Exec(t *testing.T) (exec func(text string, args ...any), closeDB func()) {
	t.Helper()
	if path, ok := strings.CutPrefix(s.Database, "sqlite:"); ok {
		db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
		Must(t, err)
		return func(text string, args ...any) { _, err := db.ExecContext(ctx, text, args...); Must(t, err) }, func() { Must(t, db.Close()) }
	}
	conn, err := pgx.Connect(ctx, s.Database)
	Must(t, err)
	return func(text string, args ...any) { _, err := conn.Exec(ctx, text, args...); Must(t, err) }, func() { Must(t, conn.Close(ctx)) }
}

// Open returns a function that reads rows, and one that closes the connection. The values of a row
// have \x1f between them.
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
