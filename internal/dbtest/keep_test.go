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

// place is where a client is: a database, and the process of its session.
type place struct {
	database string
	process  int
}

// connect connects to a database and says where that leads.
func connect(t *testing.T, database string) (*pgx.Conn, place) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	var at place
	if err := conn.QueryRow(t.Context(), "SELECT current_database(), pg_backend_pid()").Scan(&at.database, &at.process); err != nil {
		t.Fatal(err)
	}
	return conn, at
}

// The next test gets the same database, empty. What a test left alive cannot connect to it.
func TestDatabaseIsOfOneTest(t *testing.T) {
	var address string
	var first place
	refused := func(when string) {
		t.Helper()
		if conn, err := pgx.Connect(t.Context(), address); err == nil {
			_ = conn.Close(t.Context())
			t.Errorf("a client of the first test connects %s", when)
		}
	}
	t.Run("first", func(t *testing.T) {
		address = dbtest.Postgres(t)
		conn, at := connect(t, address)
		defer conn.Close(t.Context())
		first = at
		if _, err := conn.Exec(t.Context(), "INSERT INTO things VALUES ('of the first')"); err != nil {
			t.Fatal(err)
		}
	})
	refused("after it")
	t.Run("second", func(t *testing.T) {
		conn, second := connect(t, dbtest.Postgres(t))
		defer conn.Close(t.Context())
		var rows int
		if err := conn.QueryRow(t.Context(), "SELECT count(*) FROM things").Scan(&rows); err != nil || rows != 0 || second != first {
			t.Errorf("want the database and session of the first, empty: %d rows, %v, then %v (%v)", rows, first, second, err)
		}
		refused("to the database of the second")
	})
}

// A session keeps its prepared statements for the next test. If a test removed some, by either protocol, nobody gets the
// session.
func TestRemovedStatementsAreMissedByNobody(t *testing.T) {
	const remove = "DEALLOCATE ALL"
	for how, end := range map[string]func(*pgconn.PgConn) error{
		"kept":   func(*pgconn.PgConn) error { return nil },
		"simple": func(c *pgconn.PgConn) error { return c.Exec(t.Context(), remove).Close() },
		"extended": func(c *pgconn.PgConn) error {
			_, err := c.ExecParams(t.Context(), remove, nil, nil, nil, nil).Close()
			return err
		},
	} {
		var places []place
		for _, test := range []string{"first", "second"} {
			t.Run(how+"/"+test, func(t *testing.T) {
				conn, at := connect(t, dbtest.Postgres(t))
				defer conn.Close(t.Context())
				places = append(places, at)
				if _, err := conn.Prepare(t.Context(), "count", "SELECT count(*) FROM things"); err != nil {
					t.Fatal(err)
				}
				if _, err := conn.Exec(t.Context(), "count"); err != nil {
					t.Fatal(err)
				}
				if err := end(conn.PgConn()); err != nil {
					t.Fatal(err)
				}
			})
		}
		if same := len(places) == 2 && places[0] == places[1]; same != (how == "kept") {
			t.Errorf("%s: the tests had the sessions %v", how, places)
		}
	}
}
