package dbtest_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cascadapay/cascada/internal/dbtest"
)

func TestMain(m *testing.M) {
	dbtest.Keep = true
	dbtest.Prepare = func(ctx context.Context, database string) error {
		conn, err := pgx.Connect(ctx, database)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, "CREATE TABLE things (name text)")
		return err
	}
	dbtest.Main(m)
}

// use runs a statement.
func use(t *testing.T, conn *pgx.Conn, text string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func connect(t *testing.T, database string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// What a test left alive cannot write into the database of the next test.
func TestDatabaseIsOfOneTest(t *testing.T) {
	var address string
	t.Run("first", func(t *testing.T) {
		address = dbtest.Postgres(t)
		conn := connect(t, address)
		use(t, conn, "INSERT INTO things VALUES ('of the first')")
		_ = conn.Close(t.Context())
	})
	if conn, err := pgx.Connect(t.Context(), address); err == nil {
		_ = conn.Close(t.Context())
		t.Error("a client connects to a database that no test uses")
	}
	t.Run("second", func(t *testing.T) {
		again := dbtest.Postgres(t)
		conn := connect(t, again)
		defer conn.Close(t.Context())
		var rows int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM things").Scan(&rows); err != nil || rows != 0 || again != address {
			t.Errorf("want the same database, empty: %d rows, %s, then %s (%v)", rows, address, again, err)
		}
	})
}

// A session whose statements a test removed, by either protocol, is not given to the next test.
func TestRemovedStatementsAreMissedByNobody(t *testing.T) {
	const remove = "DEALLOCATE ALL"
	for protocol, removed := range map[string]func(*pgconn.PgConn) error{
		"simple": func(c *pgconn.PgConn) error { return c.Exec(t.Context(), remove).Close() },
		"extended": func(c *pgconn.PgConn) error {
			_, err := c.ExecParams(t.Context(), remove, nil, nil, nil, nil).Close()
			return err
		},
	} {
		for _, test := range []string{"first", "second"} {
			t.Run(protocol+"/"+test, func(t *testing.T) {
				conn := connect(t, dbtest.Postgres(t))
				defer conn.Close(t.Context())
				if _, err := conn.Prepare(t.Context(), "count", "SELECT count(*) FROM things"); err != nil {
					t.Fatal(err)
				}
				use(t, conn, "count")
				if err := removed(conn.PgConn()); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}
