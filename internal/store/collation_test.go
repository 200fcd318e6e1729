package store

import (
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// Also in a database that was made for a language, as the tests' is, ids sort as bytes: lists rely on the order, and a
// new version of the system's locale breaks no index.
func TestTextIsComparedAsBytes(t *testing.T) {
	ctx := t.Context()
	s, err := Open(ctx, dbtest.Postgres(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	read := func(query string) (text string) {
		t.Helper()
		if err := s.b.DB.Query(ctx, query, nil, func(r engine.Row) error { return r.Scan(&text) }); err != nil {
			t.Fatal(err)
		}
		return text
	}
	if found := read(`SELECT coalesce(string_agg(table_name || '.' || column_name, ' '), '') FROM information_schema.columns
WHERE table_schema = current_schema() AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`); found != "" {
		t.Errorf("%s: compared by a language's collation", found)
	}
	for _, key := range []string{"b", "A", "a", "B"} {
		if err := s.Commit(ctx, pay.Change{Once: &pay.Once{Key: key, Hash: "h", Object: key, At: time.UnixMicro(1)}}); err != nil {
			t.Fatal(err)
		}
	}
	if other := read(`SELECT string_agg(x, '' ORDER BY x) FROM unnest(ARRAY['b', 'A', 'a', 'B']) AS x`); other != "aAbB" {
		t.Errorf("the database sorts %s: it was not made for a language, so this test proves nothing", other)
	}
	if sorted := read("SELECT string_agg(id, '' ORDER BY id) FROM once"); sorted != "ABab" {
		t.Errorf("keys are sorted %s", sorted)
	}
}
