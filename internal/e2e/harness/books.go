package harness

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/pay/reconcile"
	"github.com/cascadapay/cascada/internal/provider/providertest"
	"github.com/cascadapay/cascada/internal/store/packed"
	"github.com/cascadapay/cascada/internal/store/table"
	"github.com/jackc/pgx/v5"
)

// Reconciled compares an upstream's books with ours line by line, as cascada reconcile does with a
// provider's report. It fails the test on every discrepancy, except the kinds in but.
func Reconciled(t *testing.T, s *Instance, account string, u *providertest.Upstream, but ...reconcile.Discrepancy) reconciliation.Compared {
	t.Helper()
	done, found := CompareReport(t, s, account, u.Report())
	for _, f := range found {
		if !slices.Contains(but, f.Discrepancy) {
			t.Errorf("the report of %s differs from our books: %s", account, f)
		}
	}
	return done
}

// CompareReport compares a CSV report in the generic format with our books, from 1970 to an hour
// from now. It returns the discrepancies.
func CompareReport(t *testing.T, s *Instance, account, report string) (reconciliation.Compared, []reconcile.Finding) {
	t.Helper()
	var found []reconcile.Finding
	done, err := s.App.Reconciliation.Reconcile(ctx, reconciliation.Comparison{
		Account: account, Reports: []reconciliation.Report{{Name: account + ".csv", Reader: strings.NewReader(report)}}, Format: reconcile.Generic(),
		From: time.Unix(1, 0), To: s.Clock.Now().Add(time.Hour), Tell: func(f reconcile.Finding) { found = append(found, f) },
	})
	Must(t, err)
	if done.Count != len(found) {
		t.Errorf("%d discrepancies were reported, but %d are kept", len(found), done.Count)
	}
	return done, found
}

// ReportFile downloads a file. It ends the test unless the status is 200.
func ReportFile(t *testing.T, o Client, path string) (http.Header, []byte) {
	t.Helper()
	status, header, body := Download(t, o, path)
	if status != http.StatusOK {
		t.Fatalf("GET %s returns %d: %s", path, status, body)
	}
	return header, body
}

// MoveTestClock moves the sandbox's test clock forward by a duration such as "48h".
func MoveTestClock(t *testing.T, o Client, by string) {
	t.Helper()
	o.Post(t, "/sandbox/clock", `{"advance":"`+by+`"}`).Want(t, http.StatusOK)
}

// Settle runs the loops of settlements until done returns true. what is as in Eventually.
func (s *Instance) Settle(t *testing.T, what string, done func() bool) {
	t.Helper()
	Eventually(t, what, func() bool {
		s.Work(t)
		return done()
	})
}

// Work runs each loop of settlements once, and returns for how many rows there was something to do.
func (s *Instance) Work(t *testing.T) (rows int) {
	t.Helper()
	for _, do := range []func() (int, error){
		func() (int, error) { return s.App.Settlements.OpenSettlements(ctx) }, func() (int, error) { return s.App.Settlements.ReleaseReserves(ctx) },
		func() (int, error) { return s.App.Settlements.CloseSettlements(ctx) }, func() (int, error) { return s.App.Settlements.Receipts(ctx) },
	} {
		n, err := do()
		Must(t, err)
		rows += n
	}
	return rows
}

// ClosedSettlements runs the loops until n settlements are closed and have receipts. It returns
// their list, newest first.
func ClosedSettlements(t *testing.T, o Client, n int) Reply {
	t.Helper()
	var r Reply
	o.Settle(t, fmt.Sprintf("%d settlements are closed, with their receipts", n), func() bool {
		r = o.Get(t, "/settlements?status=closed").Want(t, http.StatusOK)
		if r.Text(t, "pagination.total") != fmt.Sprint(n) {
			return false
		}
		for i := range n {
			// A settlement may leave this status between the count and the rows.
			if url, listed := r.At(t, fmt.Sprintf("data.%d.pdfUrl", i)); !listed || url == nil {
				return false
			}
		}
		return true
	})
	return r
}

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

// Rehash gives all rows of a table the hashes that belong to them, as if the service had written them. A test calls it after it
// changed rows without the service.
func Rehash(t *testing.T, s *Instance, name string) {
	t.Helper()
	of := table.Hashings()
	hashing := of[slices.IndexFunc(of, func(h *table.Hashing) bool { return h.Table == name })]
	read, hashes := hashing.Reader(s.Vault.Key("blocks")), map[string]string{}
	add := func(row interface{ Scan(into ...any) error }) {
		found, err := read(row)
		Must(t, err)
		hashes[found.ID] = found.Want
	}
	text := "SELECT " + hashing.List("t") + " FROM " + name + " AS t"
	if path, ok := strings.CutPrefix(s.Database, "sqlite:"); ok {
		db, err := sql.Open("sqlite", path)
		Must(t, err)
		rows, err := db.QueryContext(ctx, text)
		Must(t, err)
		for rows.Next() {
			add(rows)
		}
		Must(t, errors.Join(rows.Err(), rows.Close(), db.Close()))
	} else {
		conn, err := pgx.Connect(ctx, s.Database)
		Must(t, err)
		rows, err := conn.Query(ctx, text)
		Must(t, err)
		for rows.Next() {
			add(rows)
		}
		Must(t, errors.Join(rows.Err(), conn.Close(ctx)))
	}
	exec, closeDB := s.Exec(t)
	defer closeDB()
	for id, hash := range hashes {
		exec("UPDATE "+name+" SET row_hash = $1 WHERE id = $2", hash, id)
	}
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

// joined is a row as text. The payload in a whole row of events is unpacked, unless it is encrypted.
func joined(values []any) string {
	var parts []string
	for _, v := range values {
		if stored, ok := v.([]byte); ok {
			v = string(stored)
			if len(parts) > 2 {
				_, object, _ := strings.Cut(parts[0], "_")
				object, _, _ = strings.Cut(object, "-")
				if payload, err := packed.Unpack(stored, object, parts[1], parts[2]); err == nil {
					v = string(payload)
				}
			}
		}
		parts = append(parts, fmt.Sprint(v))
	}
	return strings.Join(parts, "\x1f")
}
