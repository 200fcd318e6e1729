package main_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestAuditNamesTheOperator(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		k, other := u.merchant(t, database), u.merchant(t, database)
		if out, log, code := u.run(t, "key", "create", "--database", database, "--merchant", k.Merchant.ID); code != 0 {
			t.Fatalf("key create: exit %d\n%s%s", code, out, log)
		}
		list := func(args ...string) string {
			t.Helper()
			out, log, code := u.run(t, append([]string{"audit", "list", "--database", database}, args...)...)
			if code != 0 {
				t.Fatalf("audit list: exit %d\n%s%s", code, out, log)
			}
			return out
		}
		host, err := os.Hostname()
		if err != nil {
			t.Fatal(err)
		}
		line := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT[\d:.]+Z ` + k.Merchant.ID + ` production merchant\.created ` + k.Merchant.ID +
			` by operator .+@` + regexp.QuoteMeta(host) + ` name="Acme" refundFees="returned" tier="starter"$`)
		if out := list("--merchant", k.Merchant.ID); !line.MatchString(out) || strings.Count(out, "\n") != 7 || strings.Contains(out, other.Merchant.ID) {
			t.Errorf("want %s, a shop and five keys:\n%s", line, out)
		}
		object := regexp.MustCompile(`(?m)^\{"id":"aud_\w+","at":"[^"]+Z","merchantId":"` + k.Merchant.ID + `","environment":"sandbox",` +
			`"actor":\{"kind":"operator","id":"[^"]+"\},"action":"key\.created","object":"key_\w+","details":\{"kind":"secret","preview":"sk_test_…[^"]+","rights":"withdrawals"\}\}$`)
		if out := list("--json"); !object.MatchString(out) || strings.Count(out, "\n") != 13 {
			t.Errorf("want %s among thirteen:\n%s", object, out)
		}
		if out := list("--since", "2999-01-01"); out != "" {
			t.Errorf("since a future day:\n%s", out)
		}
		if out := list("--since", "2020-01-01"); strings.Count(out, "\n") != 13 {
			t.Errorf("since a day long ago:\n%s", out)
		}
	})
}

// An operator can make sure that nobody cut the chains.
func TestKeptHeadsProveTheChains(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		s := u.serve(t, "--database", database)
		k := u.merchant(t, database)
		pay := func() {
			t.Helper()
			if status, reply := s.call("POST", "/payments", k.Keys.Sandbox.Secret, `{"amount":10,"paymentMethodId":"sbx_card"}`, nil); status != http.StatusCreated {
				t.Fatalf("create: %d %v", status, reply)
			}
		}
		db := openDatabase(t, database)
		sealed := func() {
			await(t, "everything to be sealed", func() bool {
				waits := 0
				if err := db.QueryRow("SELECT count(*) FROM unsealed").Scan(&waits); err != nil {
					t.Fatal(err)
				}
				return waits == 0
			})
		}
		pay()
		sealed()
		pay()
		sealed()
		heads, log, code := u.run(t, "seal", "head", "--database", database)
		if code != 0 || !regexp.MustCompile(`(?m)^`+k.Merchant.ID+` sandbox \d+ [0-9a-f]{64}$`).MatchString(heads) {
			t.Fatalf("seal head: exit %d\n%s%s", code, heads, log)
		}
		kept := filepath.Join(u.dir, "heads")
		check := func(content, want string) {
			t.Helper()
			if err := os.WriteFile(kept, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			out, log, code := u.run(t, "check", "--database", database, "--heads", kept)
			if (code == 0) != strings.HasPrefix(want, "every invariant holds") || !strings.Contains(out+log, want) {
				t.Errorf("check --heads: exit %d, want %q\n%s%s", code, want, out, log)
			}
		}
		pay()
		check(heads, "every invariant holds")
		check("", "contains no head")
		check("nonsense\n", `"nonsense" is not a head`)
		check(regexp.MustCompile(`[0-9a-f]{64}`).ReplaceAllString(heads, strings.Repeat("0", 64)), "differs from the one that was kept")
		check(strings.Replace(heads, "sandbox 2 ", "sandbox 99 ", 1), "block 99: is gone: the chain was cut")

		state := filepath.Join(u.dir, "proved", "state.json")
		goesOn := func(want string, args ...string) {
			t.Helper()
			out, log, code := u.run(t, append([]string{"check", "--database", database, "--state", state}, args...)...)
			if (code == 0) != strings.HasPrefix(want, "every invariant holds") || !strings.Contains(out+log, want) {
				t.Errorf("check --state %v: exit %d, want %q\n%s%s", args, code, want, out, log)
			}
		}
		goesOn("no such file or directory")
		if err := os.Mkdir(filepath.Dir(state), 0o700); err != nil {
			t.Fatal(err)
		}
		goesOn("every invariant holds\n")
		pay()
		goesOn("every invariant holds for what changed since 20")
		first, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		sealed()
		pay()
		goesOn("every invariant holds\n", "--full", "--progress")
		if files, err := os.ReadDir(filepath.Dir(state)); err != nil || len(files) != 1 {
			t.Errorf("files beside the state: %v, %v", files, err)
		}
		write := func(content []byte) {
			t.Helper()
			if err := os.WriteFile(state, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write(first) // an older state proves more
		goesOn("every invariant holds for what changed since 20")
		write(bytes.Replace(first, []byte(`"block":`), []byte(`"block":1`), 1))
		goesOn("it is not a proof that an earlier check of this database wrote")
		goesOn("it is not a proof that an earlier check of this database wrote", "--full")
		s.stop()
		write(first)
		before, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("UPDATE balances SET available = available + 1, reserve = reserve - 1 WHERE merchant = '" + k.Merchant.ID + "' AND NOT live"); err != nil {
			t.Fatal(err)
		}
		goesOn("broken: a balance is the sum of its postings: " + k.Merchant.ID + " available")
		if after, err := os.ReadFile(state); err != nil || !bytes.Equal(before, after) {
			t.Errorf("what was broken is kept as proved: %s, %v", after, err)
		}
	})
}
