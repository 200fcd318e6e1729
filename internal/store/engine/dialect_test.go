package engine_test

import (
	"slices"
	"testing"

	"github.com/cascadapay/cascada/internal/store/engine"
)

// Each macro has a text for each engine.
func TestMacrosAreTranslated(t *testing.T) {
	for _, c := range []struct{ text, sqlite, postgres string }{
		{"SELECT 1", "SELECT 1", "SELECT 1"},
		{"SELECT id FROM a {for update}", "SELECT id FROM a ", "SELECT id FROM a FOR UPDATE"},
		{"a {skip locked d}", "a ", "a FOR UPDATE OF d SKIP LOCKED"},
		{"CREATE TABLE a (b TEXT NOT NULL){hot}", "CREATE TABLE a (b TEXT NOT NULL)", `CREATE TABLE a (b TEXT COLLATE "C" NOT NULL) WITH (fillfactor = 40)`},
		{"CREATE TABLE a (b {bytes} NOT NULL)", "CREATE TABLE a (b BLOB NOT NULL)", "CREATE TABLE a (b BYTEA NOT NULL)"},
		{"{rows: id TEXT, b BYTES} AS r", "(SELECT value ->> 0 AS id, unhex(value ->> 1) AS b FROM jsonb_each($1)) AS r", "(SELECT * FROM unnest($1::text[], $2::bytea[]) AS u(id, b)) AS r"},
		{"CREATE INDEX {concurrently} a", "CREATE INDEX  a", "CREATE INDEX CONCURRENTLY a"},
		{"{json a.b c}", "(a.b ->> 'c')", "(a.b::json ->> 'c')"},
		{"{json a.b c.d}", "(a.b ->> '$.c.d')", "(a.b::json #>> '{c,d}')"},
		{"{each a.b}", "json_each(a.b)", "json_each_text(a.b::json)"},
		{"{items i a.b c}", "json_each(a.b, '$.c') AS i", "LATERAL json_array_elements(coalesce(a.b::json -> 'c', '[]')) AS i(value)"},
		{"{last 4 lower(a)}", "substr(lower(a), -4)", "right(lower(a), 4)"},
		{"{word l 3}", `(('["' || replace(l.value, ' ', '","') || '"]') ->> 3)`, "(string_to_array(l.value, ' '))[1 + 3]"},
		{"{part a.id}", "a.id >= $1 AND a.id < $2", "a.id >= $1 AND a.id < $2"},
		{"{named a.id x_ b.id}", "a.id > 'x_' || substr(b.id, 5) || '-' AND a.id < 'x_' || substr(b.id, 5) || '.'", "a.id > 'x_' || substr(b.id, 5) || '-' AND a.id < 'x_' || substr(b.id, 5) || '.'"},
		{"{given a.id}", "a.id IN (SELECT value ->> 0 FROM jsonb_each($1))", "a.id = ANY($1::text[])"},
		{"b {in SELECT c FROM d}", "b IN (SELECT c FROM d)", "b = ANY(ARRAY(SELECT c FROM d))"},
		{"{ids SELECT id FROM a}", "json_each((SELECT json_group_array(id) FROM (SELECT id FROM a))) AS ids", "LATERAL (SELECT id FROM a) AS ids(value)"},
		{"FROM a {by a_b}", "FROM a INDEXED BY a_b", "FROM a "},
		{"{lost id}", "id", "CASE WHEN set_config('cascada.lost', 'yes', TRUE) = 'yes' THEN id END"},
		{"LIMIT $3", "LIMIT CAST($3 AS INTEGER)", "LIMIT $3"},
		{"{rows: id TEXT} AS r WHERE {among a.id id}", "(SELECT value ->> 0 AS id FROM jsonb_each($1)) AS r WHERE TRUE", "(SELECT * FROM unnest($1::text[]) AS u(id)) AS r WHERE a.id = ANY($1)"},
	} {
		if got := engine.SQLite.SQL(c.text); got != c.sqlite {
			t.Errorf("SQLite: %s is\n%s, want\n%s", c.text, got, c.sqlite)
		}
		if got := engine.PostgreSQL.SQL(c.text); got != c.postgres {
			t.Errorf("PostgreSQL: %s is\n%s, want\n%s", c.text, got, c.postgres)
		}
	}
}

// A macro that names a column which its rows do not have is a mistake of ours.
func TestAmongNamesAColumnOfTheRows(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("it was translated")
		}
	}()
	engine.SQLite.SQL("SELECT 1 FROM {rows: id TEXT} AS r WHERE {among a.id other}")
}

func TestColumnsAreParsed(t *testing.T) {
	want := []engine.Column{{Name: "id", Kind: "TEXT"}, {Name: "n", Kind: "BIGINT"}}
	if got := engine.ParseColumns("id TEXT, n BIGINT"); !slices.Equal(got, want) {
		t.Errorf("they are %v", got)
	}
}
