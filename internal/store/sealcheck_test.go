package store_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/seal"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/check"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

var sealKey = bytes.Repeat([]byte{7}, 32)

// vandal changes a database without the service, with triggers or without.
type vandal struct {
	t  *testing.T
	db *sql.DB
}

func newVandal(t *testing.T, database string) vandal {
	t.Helper()
	path, lite := strings.CutPrefix(database, "sqlite:")
	driver, address := "pgx", database
	if lite {
		driver, address = "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, address)
	must(t, err)
	db.SetMaxOpenConns(1) // for the setting below
	t.Cleanup(func() { db.Close() })
	v := vandal{t, db}
	if !lite {
		v.exec("SET session_replication_role = replica")
		return v
	}
	for _, table := range []string{"transfers", "audit", "blocks"} {
		v.exec("DROP TRIGGER " + table + "_no_update")
		v.exec("DROP TRIGGER " + table + "_no_delete")
	}
	return v
}

func (v vandal) exec(statement string, args ...any) {
	v.t.Helper()
	result, err := v.db.Exec(statement, args...)
	must(v.t, err)
	if n, err := result.RowsAffected(); err == nil && n == 0 && !strings.HasPrefix(statement, "DROP") && !strings.HasPrefix(statement, "SET") {
		v.t.Fatalf("%s changed nothing", statement)
	}
}

// columns lists a table's columns as the database has them.
func (v vandal) columns(table string) []string {
	v.t.Helper()
	rows, err := v.db.Query("SELECT * FROM " + table + " WHERE 1 = 0")
	must(v.t, err)
	defer rows.Close()
	names, err := rows.Columns()
	must(v.t, err)
	return names
}

// broken fails the test if Check does not report the row under the rule.
func (v vandal) broken(s *store.Store, rule, id, note string) {
	v.t.Helper()
	broken, _ := s.Check(ctx) // a document that no longer parses ends it, after the seals
	v.named(broken, rule, id, note)
}

func (v vandal) named(broken []check.Broken, rule, id, note string) {
	v.t.Helper()
	if !slices.ContainsFunc(broken, func(b check.Broken) bool {
		return strings.Contains(b.Invariant, rule) && b.ID == id && strings.Contains(b.Note, note)
	}) {
		v.t.Errorf("want %q named for %q (%s), found %v", id, rule, note, broken)
	}
}

func act(id string, at time.Time) audit.Entry {
	return audit.Entry{ID: audit.Prefix + id, Scope: acme, By: audit.Actor{Kind: audit.ByKey, ID: "key_1", IP: "192.0.2.1", Request: "req_1"},
		Act: audit.KeyCreated, Object: "key_2", Details: map[string]string{"kind": "secret"}, At: at}
}

// written writes a transfer and an audit entry in one change.
func written(t *testing.T, s *store.Store, id string) {
	t.Helper()
	tr := transfer("tr_"+id, ledger.Posting{Account: ledger.Available, Amount: 5}, ledger.Posting{Account: ledger.Receivable, Amount: -5})
	must(t, s.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{tr}, Audit: []audit.Entry{act(id, noon)}}))
}

func sealAll(t *testing.T, s *store.Store) {
	t.Helper()
	for more := true; more; {
		var err error
		more, err = s.Seal(ctx, noon)
		must(t, err)
	}
}

// heads reads the newest blocks by the chain's name.
func heads(t *testing.T, s *store.Store) map[string]seal.Head {
	t.Helper()
	list := map[string]seal.Head{}
	must(t, store.ReaderOf(s).Heads(ctx, func(h check.Newest) error {
		list[seal.Chain(h.Merchant, h.Live)] = h.Head
		return nil
	}))
	return list
}

func openSealed(t *testing.T, database string, o store.Options) *store.Store {
	t.Helper()
	o.SealKey = sealKey
	s, err := store.Open(ctx, database, o)
	must(t, err)
	t.Cleanup(s.Close)
	return s
}

// eachSealed runs a test on both engines with a chain of six blocks of four rows
// each: tr_b1a, tr_b1b, aud_b1a, aud_b1b in the first, and so on. Two more
// rows wait.
func eachSealed(t *testing.T, test func(t *testing.T, s *store.Store, v vandal)) {
	t.Helper()
	dbtest.Each(t, func(t *testing.T, database string) {
		s := openSealed(t, database, store.Options{})
		for n := 1; n <= 6; n++ {
			written(t, s, fmt.Sprintf("b%da", n))
			written(t, s, fmt.Sprintf("b%db", n))
			sealAll(t, s)
		}
		written(t, s, "waits")
		clean(t, s)
		if h := heads(t, s)["mer_acme sandbox"]; h.N != 6 {
			t.Fatalf("the chain has %d blocks, want 6", h.N)
		}
		test(t, s, newVandal(t, database))
	})
}

// Whichever column of a row is changed, in a block or not yet, the row is reported.
func TestChangedRowIsNamed(t *testing.T) {
	eachSealed(t, func(t *testing.T, s *store.Store, v vandal) {
		prefixes := map[string]string{"transfers": "tr_", "audit": "aud_"}
		for _, when := range []string{"sealed", "waits"} {
			for table := range prefixes {
				for _, column := range v.columns(table) {
					written(t, s, when+"-"+table+"-"+column) // one row for each change
				}
			}
			if when == "sealed" {
				sealAll(t, s)
			}
		}
		for table, prefix := range prefixes {
			columns := v.columns(table)
			if len(columns) < 10 {
				t.Fatalf("%s has the columns %v", table, columns)
			}
			for _, column := range columns {
				change := column + " = " + column + " || 'x'"
				switch column {
				case "live":
					change = "live = NOT live"
				case "at", "amount_local", "settles_at":
					change = column + " = " + column + " + 1"
				}
				suffix := "-" + table + "-" + column
				v.exec("UPDATE "+table+" SET "+change+" WHERE id IN ($1, $2)", prefix+"sealed"+suffix, prefix+"waits"+suffix)
			}
		}
		broken, _ := s.Check(ctx) // a document that no longer parses ends it, after the seals
		for table, prefix := range prefixes {
			for _, column := range v.columns(table) {
				for _, when := range []string{"sealed", "waits"} {
					note := "was changed since it was sealed in"
					if column == "id" {
						note = "was removed since it was sealed in"
					}
					v.named(broken, "as it was written", prefix+when+"-"+table+"-"+column, note)
				}
			}
		}
	})
}

func TestRemovedRowIsNamed(t *testing.T) {
	eachSealed(t, func(t *testing.T, s *store.Store, v vandal) {
		v.exec("DELETE FROM transfers WHERE id = 'tr_b2b'")
		v.exec("DELETE FROM audit WHERE id IN ('aud_b5a', 'aud_waits')")
		v.broken(s, "as it was written", "tr_b2b", "was removed since it was sealed in mer_acme sandbox block 2")
		v.broken(s, "as it was written", "aud_b5a", "was removed since it was sealed in mer_acme sandbox block 5")
		v.broken(s, "as it was written", "aud_waits", "was removed")
	})
}

// A row that was inserted without the service is reported, whatever its time is, and
// even if it is also queued for sealing.
func TestInsertedRowIsNamed(t *testing.T) {
	eachSealed(t, func(t *testing.T, s *store.Store, v vandal) {
		insert := func(id string) {
			v.exec(`INSERT INTO transfers SELECT $1, `+strings.Join(v.columns("transfers")[1:], ", ")+` FROM transfers WHERE id = 'tr_b1a'`, id)
		}
		insert("tr_forged")
		v.broken(s, "is sealed, or waits", "tr_forged", "was not written by the service")

		insert("tr_marked")
		v.exec(`INSERT INTO unsealed (at, id, doc, mac) VALUES (1, 'tr_marked', '{"mer_acme sandbox":{"tr_marked":"AAAAAAAAAAAAAAAAAAAAAA"}}', 'AAAAAAAAAAAAAAAAAAAAAA')`)
		v.broken(s, "waits to be sealed was written by the service", "tr_marked", "not made with our key")
		sealAll(t, s)
		v.broken(s, "waits to be sealed was written by the service", "tr_marked", "not made with our key")

		insert("tr_grafted")
		v.exec(`UPDATE blocks SET doc = substr(doc, 1, length(doc) - 1) || ',"tr_grafted":"AAAAAAAAAAAAAAAAAAAAAA"}' WHERE n = 4`)
		v.broken(s, "holds what it was made of", "mer_acme sandbox block 4", "changed")
		v.broken(s, "as it was written", "tr_grafted", "was changed")
	})
}

// The hashes of rows can be read in the blocks. They cannot be used to queue
// rows for sealing again.
func TestRowsCannotBeQueuedForSealingAgain(t *testing.T) {
	eachSealed(t, func(t *testing.T, s *store.Store, v vandal) {
		v.exec("DELETE FROM transfers WHERE id = 'tr_b6a'")
		v.exec(`INSERT INTO unsealed (at, id, doc, mac)
			SELECT 1, 'tr_b6b', '{"mer_acme sandbox":' || replace(doc, 'tr_b6a', 'tr_b6b') || '}', 'AAAAAAAAAAAAAAAAAAAAAA' FROM blocks WHERE n = 6`)
		v.exec("DELETE FROM blocks WHERE n = 6")
		sealAll(t, s)
		v.broken(s, "waits to be sealed was written by the service", "tr_b6b", "not made with our key")
		if h := heads(t, s)["mer_acme sandbox"]; h.N != 6 { // the row that waited before
			t.Errorf("the head is %v", h)
		}
	})
}

func TestBlocksCannotBeRemovedChangedOrSwapped(t *testing.T) {
	cases := map[string]struct{ do, rule, id, note string }{
		"removed":        {"DELETE FROM blocks WHERE n = 3", "a block follows", "mer_acme sandbox block 3", "is missing"},
		"first removed":  {"DELETE FROM blocks WHERE n = 1", "a block follows", "mer_acme sandbox block 1", "is missing"},
		"rows are free":  {"DELETE FROM blocks WHERE n = 3", "is sealed, or waits", "tr_b3a", "its block was removed"},
		"cut":            {"DELETE FROM blocks WHERE n > 4", "is sealed, or waits", "tr_b5a", "its block was removed"},
		"renumbered":     {"UPDATE blocks SET n = n + 10 WHERE n = 6", "a block follows", "mer_acme sandbox block 6", "is missing"},
		"time":           {"UPDATE blocks SET at = at + 1 WHERE n = 2", "a block follows", "mer_acme sandbox block 2", "was changed"},
		"merchant":       {"UPDATE blocks SET merchant = 'mer_other' WHERE n = 6", "a block follows", "mer_other sandbox block 6", "was changed"},
		"environment":    {"UPDATE blocks SET live = NOT live WHERE n = 6", "a block follows", "mer_acme production block 6", "was changed"},
		"hash":           {"UPDATE blocks SET hash = 'x' WHERE n = 2", "a block follows", "mer_acme sandbox block 2", "was changed"},
		"follower":       {"UPDATE blocks SET hash = 'x' WHERE n = 2", "a block follows", "mer_acme sandbox block 3", "does not follow"},
		"previous":       {"UPDATE blocks SET previous = 'x' WHERE n = 2", "a block follows", "mer_acme sandbox block 2", "does not follow"},
		"empty":          {"UPDATE blocks SET doc = '{}' WHERE n = 2", "a block follows", "mer_acme sandbox block 2", "was changed"},
		"no document":    {"UPDATE blocks SET doc = 'x' WHERE n = 2", "a block follows", "mer_acme sandbox block 2", "was changed"},
		"not a document": {"UPDATE unsealed SET doc = '[]'", "waits to be sealed", "aud_waits", "not made with our key"},
		"mark moved":     {"UPDATE unsealed SET id = 'aud_x'", "waits to be sealed", "aud_x", "not made with our key"},
		"mark removed":   {"DELETE FROM unsealed", "is sealed, or waits", "tr_waits", "in no block"},
		"swapped": {"UPDATE blocks SET n = 40 WHERE n = 4; UPDATE blocks SET n = 4 WHERE n = 2; UPDATE blocks SET n = 2 WHERE n = 40",
			"a block follows", "mer_acme sandbox block 4", "swapped"},
		"copied": {"INSERT INTO blocks (merchant, live, n, at, previous, hash, doc) SELECT merchant, live, 7, at, hash, hash, doc FROM blocks WHERE n = 6",
			"sealed once", "tr_b6a", "2 times"},
	}
	eachSealed(t, func(t *testing.T, s *store.Store, v vandal) {
		for _, table := range []string{"blocks", "unsealed"} {
			_, err := v.db.Exec("CREATE TABLE copy_" + table + " AS SELECT * FROM " + table)
			must(t, err)
		}
		for name, c := range cases {
			for statement := range strings.SplitSeq(c.do, "; ") {
				v.exec(statement)
			}
			t.Log(name)
			v.broken(s, c.rule, c.id, c.note)
			for _, table := range []string{"blocks", "unsealed"} {
				columns := strings.Join(v.columns(table), ", ")
				_, err := v.db.Exec("DELETE FROM " + table)
				must(t, err)
				v.exec("INSERT INTO " + table + " (" + columns + ") SELECT " + columns + " FROM copy_" + table)
			}
		}
		clean(t, s)
	})
}

// If a chain is cut together with the rows of its blocks, and sealing continues, it looks complete from
// inside. The head that was kept elsewhere shows the cut, and so does the log of a node
// that had seen the head.
func TestKeptHeadShowsACutChain(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		var log bytes.Buffer
		s := openSealed(t, database, store.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
		written(t, s, "first")
		sealAll(t, s)
		early := heads(t, s)["mer_acme sandbox"]
		written(t, s, "second")
		sealAll(t, s)
		written(t, s, "third")
		sealAll(t, s)
		kept := heads(t, s)["mer_acme sandbox"]
		written(t, s, "fourth")
		sealAll(t, s)
		for _, h := range []seal.Head{early, kept} {
			if broken, err := store.ReaderOf(s).CheckHead(ctx, h); err != nil || len(broken) > 0 {
				t.Errorf("a valid head: %v, %v", broken, err)
			}
		}
		v := newVandal(t, database)
		v.exec("DELETE FROM blocks WHERE n > 1")
		v.exec("DELETE FROM transfers WHERE id <> 'tr_first'")
		v.exec("DELETE FROM audit WHERE id <> 'aud_first'")
		v.exec("DELETE FROM audit_addresses WHERE id <> 'aud_first'")
		v.exec("UPDATE balances SET available = 5, receivable = -5, movements = 1")
		clean(t, s)
		if broken, err := store.ReaderOf(s).CheckHead(ctx, kept); err != nil || len(broken) != 1 || !strings.Contains(broken[0].Note, "was cut") {
			t.Errorf("the head of a missing block: %v, %v", broken, err)
		}
		if log.Len() > 0 {
			t.Errorf("the log has %s", log.String())
		}
		written(t, s, "fifth")
		written(t, s, "sixth")
		sealAll(t, s)
		if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "mer_acme sandbox") {
			t.Errorf("the log does not say that blocks are missing: %s", log.String())
		}
		written(t, s, "seventh")
		sealAll(t, s)
		clean(t, s)
		if broken, err := store.ReaderOf(s).CheckHead(ctx, kept); err != nil || len(broken) != 1 || !strings.Contains(broken[0].Note, "rebuilt") {
			t.Errorf("the head of a rebuilt chain: %v, %v", broken, err)
		}
		if broken, err := store.ReaderOf(s).CheckHead(ctx, early); err != nil || len(broken) > 0 {
			t.Errorf("the head before the cut: %v, %v", broken, err)
		}
	})
}

// Without the key nobody can seal, even if he knows how sealing works.
func TestAnotherKeySealsNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := openSealed(t, database, store.Options{})
		written(t, s, "ours")
		sealAll(t, s)
		written(t, s, "waits")
		var log bytes.Buffer
		other, err := store.Open(ctx, database, store.Options{SealKey: bytes.Repeat([]byte{8}, 32), Log: slog.New(slog.NewTextHandler(&log, nil))})
		must(t, err)
		defer other.Close()
		sealAll(t, other)
		if n := heads(t, other)["mer_acme sandbox"].N; n != 1 || !strings.Contains(log.String(), "not made with our key") {
			t.Errorf("%d blocks, log %s", n, log.String())
		}
		written(t, other, "forged")
		sealAll(t, other)
		v := vandal{t: t}
		v.broken(s, "as it was written", "tr_forged", "was changed")
		v.broken(s, "a block follows", "mer_acme sandbox block 2", "its hash")
		sealAll(t, s) // waiting rows are sealed nevertheless
		v.broken(other, "as it was written", "tr_ours", "was changed")
	})
}
