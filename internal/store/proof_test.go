package store_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/store/check"
)

// since checks what changed since a proof; nil: everything.
func since(t *testing.T, s *store.Store, p *check.Proof) check.Checked {
	t.Helper()
	got, err := store.ReaderOf(s).Check(ctx, check.Options{Since: p, Parallel: 3})
	must(t, err)
	return got
}

// proved checks, and fails the test if something is broken.
func proved(t *testing.T, s *store.Store, p *check.Proof) *check.Proof {
	t.Helper()
	got := since(t, s, p)
	if got.Proof == nil || len(got.Broken) > 0 {
		t.Fatalf("broken: %v", got.Broken)
	}
	return got.Proof
}

// A check that continues from an earlier one finds errors that are new, and errors of balances and
// heads. Older errors in rows that have not changed since are found only by a full
// check.
func TestCheckContinuesFromAProof(t *testing.T) {
	cases := map[string]struct {
		do        string
		rule, id  string
		unnoticed bool // by a check that continues
	}{
		"an old row":                {"UPDATE transfers SET amount_local = 7 WHERE id = 'tr_b1a'", "as it was written", "tr_b1a", true},
		"an old row removed":        {"DELETE FROM transfers WHERE id = 'tr_b2a'", "as it was written", "tr_b2a", true},
		"an old row put in":         {"INSERT INTO audit SELECT 'aud_old', merchant, shop, live, actor_kind, actor, request, act, object, at, doc, commitment, note_commitment FROM audit WHERE id = 'aud_b1a'", "is sealed, or waits", "aud_old", true},
		"an old block":              {"UPDATE blocks SET at = at + 1 WHERE n = 2", "a block follows", "mer_acme sandbox block 2", true},
		"a new row":                 {"UPDATE transfers SET amount_local = 7 WHERE id = 'tr_new'", "as it was written", "tr_new", false},
		"a new row removed":         {"DELETE FROM audit WHERE id = 'aud_new'", "as it was written", "aud_new", false},
		"a row that waits":          {"UPDATE audit SET actor = 'x' WHERE id = 'aud_last'", "as it was written", "aud_last", false},
		"a new block":               {"UPDATE blocks SET at = at + 1 WHERE n = 7", "a block follows", "mer_acme sandbox block 7", false},
		"the head":                  {"UPDATE blocks SET hash = 'x' WHERE n = 6", "goes on from the head", "mer_acme sandbox block 6", false},
		"the end of a chain":        {"DELETE FROM blocks WHERE n > 4", "goes on from the head", "mer_acme sandbox block 6", false},
		"a whole chain":             {"DELETE FROM blocks", "goes on from the head", "mer_acme sandbox block 6", false},
		"a balance":                 {"UPDATE balances SET available = available + 1", "sum of its postings", "mer_acme available", false},
		"money of an old day moved": {"UPDATE balances SET receivable = receivable - 5, available = available + 5", "sum of its postings", "mer_acme receivable", false},
		"a count of movements":      {"UPDATE balances SET movements = movements + 1", "movements are counted", "mer_acme", false},
		"a balance of nothing":      {"INSERT INTO balances SELECT 'mer_other', live, pending, available, frozen, reserve, suspense, receivable, platform_fees, provider_fees, flat_fees, network_fees, fee_taxes, chargeback_fees, refunds, chargebacks, in_transit, paid_out, withdrawal_fees, withdrawal_taxes, movements, float, float_committed, float_paid, float_funding, rounding, adjustments FROM balances", "sum of its postings", "mer_other available", false},
	}
	eachSealed(t, func(t *testing.T, s *store.Store, v vandal) {
		p := proved(t, s, nil)
		written(t, s, "new")
		sealAll(t, s)
		written(t, s, "last")
		next := proved(t, s, p)
		if !next.Full.Equal(p.At) || next.At.Before(p.At) {
			t.Errorf("everything was checked at %s and then a part at %s; the second check says %s and %s", p.Full, next.At, next.Full, next.At)
		}
		tables := []string{"blocks", "unsealed", "transfers", "audit", "balances"}
		for _, table := range tables {
			_, err := v.db.Exec("CREATE TABLE copy_" + table + " AS SELECT * FROM " + table)
			must(t, err)
		}
		for name, c := range cases {
			t.Log(name)
			v.exec(c.do)
			full, err := store.ReaderOf(s).Check(ctx, check.Options{Since: p, Full: true})
			must(t, err)
			v.named(full.Broken, c.rule, c.id, "")
			got := since(t, s, p)
			if !c.unnoticed {
				v.named(got.Broken, c.rule, c.id, "")
			}
			if (got.Proof != nil) != c.unnoticed {
				t.Errorf("the docs list what only a full check finds; found %v", got.Broken)
			}
			for _, table := range tables {
				columns := strings.Join(v.columns(table), ", ")
				_, err := v.db.Exec("DELETE FROM " + table)
				must(t, err)
				v.exec("INSERT INTO " + table + " (" + columns + ") SELECT " + columns + " FROM copy_" + table)
			}
		}
		proved(t, s, p)
	})
}

// A check reads the payments that may have changed: those that were open at the last check, or that
// have a new transfer, however old they are.
func TestCheckReadsWhatMayHaveChanged(t *testing.T) {
	const rule = "a payment has all its events"
	dbtest.Each(t, func(t *testing.T, database string) {
		s := openSealed(t, database, store.Options{})
		withShop(t, s)
		old := completed(t, s, "01AAAAAAAAAAAAAAAAAAAAAAAA")
		completed(t, s, "01BBBBBBBBBBBBBBBBBBBBBBBB")
		sealAll(t, s)
		p := proved(t, s, nil)
		v := newVandal(t, database)
		v.exec("UPDATE payments SET sequence = sequence + 1")
		if n := len(ofRule(since(t, s, nil).Broken, rule)); n != 2 {
			t.Errorf("a full check finds %d payments, want 2", n)
		}
		if found := since(t, s, p).Broken; len(found) > 0 {
			t.Errorf("payments that have not changed are read: %v", found)
		}
		late := ledger.Transfer{ID: "tr_" + strings.TrimPrefix(old.ID, pay.PaymentPrefix) + "-9-late", Merchant: acme.Merchant, Kind: ledger.LateCapture, Payment: old.ID, Claim: "CLM-none", At: noon,
			Postings: []ledger.Posting{{Account: ledger.Receivable, Amount: -5}, {Account: ledger.Suspense, Amount: 5}}}
		must(t, s.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{late}}))
		if found := ofRule(since(t, s, p).Broken, rule); len(found) != 1 || found[0].ID != old.ID {
			t.Errorf("after a transfer of %s: %v", old.ID, found)
		}
	})
}

func ofRule(found []check.Broken, rule string) []check.Broken {
	return slices.DeleteFunc(slices.Clone(found), func(b check.Broken) bool { return b.Invariant != rule })
}

// withShop creates the shop of the tests' payments.
func withShop(t *testing.T, s *store.Store) {
	t.Helper()
	must(t, s.Commit(ctx, pay.Change{Shops: []merchants.Shop{{ID: acme.Shop, Version: 1, Merchant: acme.Merchant, Name: "Acme", Slug: "acme", CreatedAt: noon}}}))
}

// A proof is refused if it was changed, or was made under another key.
func TestProofCannotBeForged(t *testing.T) {
	s := openSealed(t, dbtest.SQLite(t), store.Options{})
	written(t, s, "a")
	sealAll(t, s)
	r := store.ReaderOf(s)
	p := proved(t, s, nil)
	content, err := r.SealProof(p)
	must(t, err)
	if got, err := r.OpenProof(append(content, '\n')); err != nil || fmt.Sprint(got) != fmt.Sprint(p) {
		t.Errorf("read %v (%v), wrote %v", got, err, p)
	}
	other := openSealed(t, dbtest.SQLite(t), store.Options{})
	other.SealWith(bytes.Repeat([]byte{8}, 32), nil)
	if _, err := store.ReaderOf(other).OpenProof(content); err == nil {
		t.Error("a proof of another key is accepted")
	}
	for what, forged := range map[string][]byte{
		"a sum":     bytes.Replace(content, []byte(`"available":5`), []byte(`"available":6`), 1),
		"a block":   bytes.Replace(content, []byte(`"block":1`), []byte(`"block":2`), 1),
		"a time":    bytes.Replace(content, []byte(`"from":"0`), []byte(`"from":"7`), 1),
		"half":      content[:len(content)/2],
		"a version": bytes.Replace(content, []byte(`"version":1`), []byte(`"version":2`), 1),
		"nothing":   {},
	} {
		if bytes.Equal(forged, content) {
			t.Fatalf("%s: the forgery changed nothing in %s", what, content)
		}
		if _, err := r.OpenProof(forged); err == nil {
			t.Errorf("%s: taken: %s", what, forged)
		}
	}
}

// Checks beside concurrent writes find nothing: they compare rows of one snapshot.
func TestCheckRacesWithCommitsAndFindsNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := openSealed(t, database, store.Options{})
		withShop(t, s)
		subscribe(t, s, "all", webhooks.AllEvents)
		var group sync.WaitGroup
		end := make(chan struct{})
		for worker := range 4 {
			group.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-end:
						return
					default:
					}
					completed(t, s, fmt.Sprintf("W%dN%d", worker, n))
					if _, err := s.Seal(ctx, noon); err != nil {
						t.Error(err)
					}
				}
			})
		}
		var p *check.Proof
		for n := range 6 {
			if n == 3 {
				p = nil
			}
			p = proved(t, s, p)
		}
		close(end)
		group.Wait()
		proved(t, s, p)
		proved(t, s, nil)
	})
}

// A check holds no snapshot for long: it ends one between two parts of a table and between two invariants,
// so that VACUUM can remove rows that were deleted meanwhile.
func TestCheckReleasesItsSnapshots(t *testing.T) {
	database := dbtest.Postgres(t)
	s := openSealed(t, database, store.Options{})
	withShop(t, s)
	v := newVandal(t, database)
	v.exec(`INSERT INTO audit (id, merchant, shop, live, actor_kind, actor, request, act, object, at, doc, commitment, note_commitment)
		SELECT 'aud_' || lpad(n::text, 26, '0'), '', '', FALSE, '', '', '', '', '', 1, '{}', '', '' FROM generate_series(1, 10000) AS n`)
	v.exec(`INSERT INTO audit_addresses (id, address, salt) SELECT id, '', '' FROM audit WHERE id LIKE 'aud_0%'`)
	r, err := check.OpenReader(ctx, database, nil)
	must(t, err)
	defer r.Close()
	r.SealWith(sealKey)
	looks, held, parts := 0, 0, map[string]int{}
	_, err = r.Check(ctx, check.Options{Progress: func(p check.Progress) {
		looks++
		parts[p.Part]++
		var n int
		must(t, v.db.QueryRow("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cascada check' AND (backend_xmin IS NOT NULL OR xact_start IS NOT NULL)").Scan(&n))
		held += n
	}})
	must(t, err)
	if held > 0 || looks < 60 || parts["audit_addresses"] < 5 {
		t.Errorf("at %d of %d moments between its snapshots the check held one; %v", held, looks, parts)
	}
	var readOnly string
	must(t, v.db.QueryRow("SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'cascada check'").Scan(&readOnly))
	if readOnly != "1" {
		t.Errorf("a check has %s connections, want 1", readOnly)
	}
}

// A reader changes nothing, not even the schema of an older database.
func TestReaderRefusesAnotherSchema(t *testing.T) {
	dbtest.EachEmpty(t, func(t *testing.T, database string) {
		if _, err := check.OpenReader(ctx, database, nil); err == nil {
			t.Error("an empty database is opened")
		}
		s, err := store.Open(ctx, database, store.Options{})
		must(t, err)
		s.Close()
		r, err := check.OpenReader(ctx, database, nil)
		must(t, err)
		r.Close()
		v := newVandal(t, database)
		v.exec("DELETE FROM schema_version WHERE n >= (SELECT max(n) FROM schema_version WHERE NOT contract)")
		if _, err := check.OpenReader(ctx, database, nil); err == nil || !strings.Contains(err.Error(), "cascada migrate") {
			t.Errorf("an older database: %v", err)
		}
		v.exec("INSERT INTO schema_version (n, contract) VALUES (9999, TRUE)")
		if _, err := check.OpenReader(ctx, database, nil); err == nil || !strings.Contains(err.Error(), "9999") {
			t.Errorf("a newer database: %v", err)
		}
	})
}

// A check ends at once when it is canceled.
func TestCheckEndsWithItsCaller(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		s := openSealed(t, database, store.Options{})
		done, cancel := context.WithCancel(ctx)
		_, err := store.ReaderOf(s).Check(done, check.Options{Progress: func(p check.Progress) {
			if p.Part == "payments" {
				cancel()
			}
		}})
		if err == nil || done.Err() == nil {
			t.Errorf("the check ended with %v", err)
		}
	})
}
