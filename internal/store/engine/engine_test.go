package engine_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/store/engine"
)

func TestMain(m *testing.M) { dbtest.Main(m, func() {}) }

// The statements of the tests, over a table that only they have.
var (
	insertThings = engine.Statement("INSERT INTO things (id, n, flag, text, raw) SELECT r.id, r.n, r.flag, r.text, r.raw FROM {rows: id TEXT, n BIGINT, flag BOOLEAN, text TEXT, raw BYTES} AS r WHERE {unless lost}")
	raiseThings  = engine.Statement("UPDATE things SET n = r.n FROM {rows: id TEXT, n BIGINT} AS r WHERE things.id = r.id AND things.n = r.n - 1 AND {among things.id id} AND {unless lost} RETURNING things.id")
	lookThings   = engine.Statement("SELECT {lost r.id} FROM {rows: id TEXT, n BIGINT} AS r WHERE coalesce((SELECT t.n FROM things AS t WHERE t.id = r.id), 0) <> r.n - 1")
)

const things = `CREATE TABLE things (id TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL, flag BOOLEAN NOT NULL, text TEXT NOT NULL, raw {bytes} NOT NULL)`

// each runs a test on SQLite in memory and on PostgreSQL.
func each(t *testing.T, test func(t *testing.T, db engine.DB)) {
	migrated := func(t *testing.T, db engine.DB) {
		t.Helper()
		t.Cleanup(db.Close)
		if err := db.Migrate(t.Context(), func(m engine.Migrator) error { return m.Exec(db.Dialect().SQL(things)) }); err != nil {
			t.Fatal(err)
		}
		test(t, db)
	}
	t.Run("sqlite", func(t *testing.T) {
		db, err := engine.OpenMemory(t.Context(), nil, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		migrated(t, db)
	})
	if dbtest.Only() == "sqlite" {
		return
	}
	t.Run("postgres", func(t *testing.T) {
		db, err := engine.Open(t.Context(), dbtest.Postgres(t), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		migrated(t, db)
	})
}

// read returns the rows of a query as texts.
func read(t *testing.T, db engine.DB, text string, args ...any) (rows []string) {
	t.Helper()
	err := db.Query(t.Context(), db.Dialect().SQL(text), args, func(r engine.Row) error {
		var row string
		err := r.Scan(&row)
		rows = append(rows, row)
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return rows
}

// raw has every byte, and no text.
var raw = func() (b []byte) {
	for i := range 256 {
		b = append(b, byte(i))
	}
	return b
}()

const texts = "quotes \" ' and \\ {braces}, é\u2028😀 \x01\x7f\n"

// insert is a step that makes things with a number.
func insert(db engine.DB, n int64, ids ...string) engine.Step {
	rows := engine.NewRows(db.Dialect(), engine.ParseColumns("id TEXT, n BIGINT, flag BOOLEAN, text TEXT, raw BYTES"), len(ids))
	for i, id := range ids {
		rows.Text(id).Number(n).Flag(i%2 == 0).Text(texts).Bytes(raw).Next()
	}
	return engine.Step{Text: db.Dialect().Texts().Of(insertThings), Args: rows.Args()}
}

// raise is a step that needs each of the things to have the number before; look finds that they do not.
func raise(db engine.DB, n int64, ids ...string) (look, step engine.Step) {
	args := func() []any {
		rows := engine.NewRows(db.Dialect(), engine.ParseColumns("id TEXT, n BIGINT"), len(ids))
		for _, id := range ids {
			rows.Text(id).Number(n).Next()
		}
		return rows.Args()
	}
	all := db.Dialect().Texts()
	nothing := func(engine.Row) error { return nil }
	return engine.Step{Text: all.Of(lookThings), Args: args(), Each: nothing},
		engine.Step{Text: all.Of(raiseThings), Args: args(), Each: nothing, Want: len(ids)}
}

// Rows arrive as they were handed in, whatever their form: one array of rows, arrays of columns, a JSON text.
func TestRowsArriveWhole(t *testing.T) {
	each(t, func(t *testing.T, db engine.DB) {
		var ids []string
		for i := range 100 {
			ids = append(ids, fmt.Sprintf("t%03d", i))
		}
		if err := db.Apply(t.Context(), nil, []engine.Step{insert(db, 1, ids...)}); err != nil {
			t.Fatal(err)
		}
		if got := read(t, db, "SELECT id FROM things WHERE text = $1 AND n = 1 ORDER BY id", texts); !slices.Equal(got, ids) {
			t.Errorf("they are %v", got)
		}
		few := engine.NewRows(db.Dialect(), engine.ParseColumns("id TEXT, raw BYTES"), 2)
		few.Text("t007").Bytes(raw).Next()
		few.Text("t008").Bytes(nil).Next()
		if got := read(t, db, "SELECT t.id FROM things AS t JOIN {rows: id TEXT, raw BYTES} AS r ON t.id = r.id AND t.raw = r.raw", few.Args()...); !slices.Equal(got, []string{"t007"}) {
			t.Errorf("those with the same bytes are %v", got)
		}
		var found []byte
		if err := db.Query(t.Context(), "SELECT raw FROM things WHERE id = 't099'", nil, func(r engine.Row) error { return r.Scan(&found) }); err != nil || !bytes.Equal(found, raw) {
			t.Errorf("the bytes are %x, %v", found, err)
		}
		if got := read(t, db, "SELECT id FROM things WHERE flag ORDER BY id"); len(got) != 50 || got[1] != "t002" {
			t.Errorf("those with a flag are %v", got)
		}
		if got := read(t, db, "SELECT CAST(count(*) AS TEXT) FROM {rows: id TEXT, n BIGINT} AS r", engine.NewRows(db.Dialect(), engine.ParseColumns("id TEXT, n BIGINT"), 0).Args()...); got[0] != "0" {
			t.Errorf("no rows are %s", got[0])
		}
	})
}

// A batch is written whole or not at all: if a row of it has lost its guard, none of its steps leaves anything.
func TestBatchesAreWrittenWhole(t *testing.T) {
	each(t, func(t *testing.T, db engine.DB) {
		ctx := t.Context()
		if err := db.Apply(ctx, nil, []engine.Step{insert(db, 1, "a", "b")}); err != nil {
			t.Fatal(err)
		}
		look, both := raise(db, 2, "a", "b")
		if err := db.Apply(ctx, []engine.Step{look}, []engine.Step{both, insert(db, 1, "c")}); err != nil {
			t.Fatal(err)
		}
		look, stale := raise(db, 2, "a", "b") // they have it already
		if err := db.Apply(ctx, nil, []engine.Step{insert(db, 1, "d"), stale}); !errors.Is(err, engine.ErrLost) {
			t.Errorf("a batch that lost: %v", err)
		}
		if db.Dialect() == engine.PostgreSQL { // SQLite logs no error, so nothing is foreseen there
			if err := db.Apply(ctx, []engine.Step{look}, []engine.Step{insert(db, 1, "e"), stale}); !errors.Is(err, engine.ErrForeseen) {
				t.Errorf("a batch that would lose: %v", err)
			}
		}
		if err := db.Apply(ctx, nil, []engine.Step{insert(db, 1, "f"), insert(db, 1, "a")}); err == nil || errors.Is(err, engine.ErrDown) {
			t.Errorf("a batch with a row that is there: %v", err)
		}
		if got := strings.Join(read(t, db, "SELECT id || CAST(n AS TEXT) FROM things ORDER BY id"), " "); got != "a2 b2 c1" {
			t.Errorf("what is written is %s", got)
		}
	})
}

// Whoever reads in a transaction before he decides sees what the guards returned; if he decides against it, nothing is written.
func TestDecisionsAreMadeInTheTransaction(t *testing.T) {
	each(t, func(t *testing.T, db engine.DB) {
		ctx := t.Context()
		if err := db.Apply(ctx, nil, []engine.Step{insert(db, 1, "a")}); err != nil {
			t.Fatal(err)
		}
		no := errors.New("no")
		_, guard := raise(db, 2, "a")
		if err := db.Transact(ctx, []engine.Step{guard}, func() ([]engine.Step, error) { return nil, no }); !errors.Is(err, no) {
			t.Errorf("a transaction that is given up: %v", err)
		}
		if got := read(t, db, "SELECT id FROM things WHERE n = 1"); len(got) != 1 {
			t.Error("the guard was written")
		}
		var seen string
		guard.Each = func(r engine.Row) error { return r.Scan(&seen) }
		if err := db.Transact(ctx, []engine.Step{guard}, func() ([]engine.Step, error) { return []engine.Step{insert(db, 7, seen+"'s")}, nil }); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(read(t, db, "SELECT id || CAST(n AS TEXT) FROM things ORDER BY id"), " "); got != "a2 a's7" {
			t.Errorf("what is written is %s", got)
		}
	})
}

// Macros that read JSON and texts mean the same on both engines.
func TestMacrosMeanTheSame(t *testing.T) {
	each(t, func(t *testing.T, db engine.DB) {
		const doc = `'{"b":{"c":"deep"},"a":"first","list":[{"x":"1"},{"x":"2","y":true}]}'`
		for text, want := range map[string]string{
			"SELECT {json d.doc a} FROM (SELECT " + doc + " AS doc) AS d":                                                                       "first",
			"SELECT {json d.doc b.c} FROM (SELECT " + doc + " AS doc) AS d":                                                                     "deep",
			"SELECT coalesce({json d.doc b.d}, 'none') FROM (SELECT " + doc + " AS doc) AS d":                                                   "none",
			"SELECT {json i.value x} FROM (SELECT " + doc + " AS doc) AS d, {items i d.doc list} ORDER BY 1":                                    "1 2",
			"SELECT {json i.value x} FROM (SELECT " + doc + " AS doc) AS d, {items i d.doc list} WHERE {json i.value y} IS NOT NULL":            "2",
			"SELECT 'x' FROM (SELECT " + doc + " AS doc) AS d, {items i d.doc nothing}":                                                         "",
			"SELECT 'yes' FROM (SELECT " + doc + " AS doc) AS d WHERE EXISTS (SELECT 1 FROM {items i d.doc list} WHERE {json i.value x} = '2')": "yes",
			"SELECT {last 4 lower(d.t)} FROM (SELECT 'ABCDEF' AS t) AS d":                                                                       "cdef",
			"SELECT {last 4 d.t} FROM (SELECT 'ab' AS t) AS d":                                                                                  "ab",
			"SELECT {word l 1} FROM (SELECT 'a b c' || chr(10) || 'd e f' AS t) AS d, {lines l d.t} ORDER BY 1":                                 "b e",
			"SELECT id FROM (SELECT 'yes' AS id) AS x WHERE {now} > 1700000000000000":                                                           "yes",
			"SELECT name FROM {tables} AS t WHERE name = 'things'":                                                                              "things",
		} {
			if db.Dialect() == engine.SQLite {
				text = strings.ReplaceAll(text, "chr(", "char(")
			}
			if got := strings.Join(read(t, db, text), " "); got != want {
				t.Errorf("%s is %q, want %q", text, got, want)
			}
		}
	})
}

// Rows of an append-only table stay as they are; with a condition, only those that fulfill it.
func TestAppendOnlyTablesRefuseChanges(t *testing.T) {
	each(t, func(t *testing.T, db engine.DB) {
		exec := func(text string) error {
			return db.Migrate(t.Context(), func(m engine.Migrator) error { return m.Exec(db.Dialect().SQL(text)) })
		}
		for _, text := range []string{"CREATE TABLE logs (id BIGINT)", "CREATE TABLE drafts (id BIGINT, kept BOOLEAN)", "{append only logs}", "{append only if kept drafts}",
			"INSERT INTO logs (id) VALUES (1)", "INSERT INTO drafts (id, kept) VALUES (1, TRUE), (2, FALSE)", "DELETE FROM drafts WHERE NOT kept"} {
			if err := exec(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
		for _, text := range []string{"UPDATE logs SET id = 2", "DELETE FROM logs", "UPDATE drafts SET kept = FALSE", "DELETE FROM drafts"} {
			if err := exec(text); err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("%s: %v", text, err)
			}
		}
	})
}

// A snapshot sees one moment and writes nothing; space is freed without an error.
func TestSnapshotsOnlyRead(t *testing.T) {
	each(t, func(t *testing.T, db engine.DB) {
		err := db.Snapshot(t.Context(), engine.ByIndex, func(ask engine.Asking) error {
			return ask("DELETE FROM things", nil, func(engine.Row) error { return nil })
		})
		if db.Dialect() == engine.PostgreSQL && err == nil { // in memory, SQLite has one connection that also writes
			t.Error("a snapshot wrote")
		}
		if err := db.Tidy(t.Context(), "things"); err != nil {
			t.Error(err)
		}
	})
}

func TestAddressesOfOtherEnginesAreRefused(t *testing.T) {
	for _, address := range []string{"", "mysql://a", "sqlite:"} {
		if db, err := engine.Open(t.Context(), address, slog.New(slog.DiscardHandler)); err == nil {
			db.Close()
			t.Errorf("%q is opened", address)
		}
	}
	if _, err := os.Stat("sqlite:"); err == nil {
		t.Error("a file was made")
	}
}
