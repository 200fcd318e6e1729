package main_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asNext names a directory with what the next version of the program would bring.
const asNext = "CASCADA_TEST_NEXT_MIGRATIONS"

func nextMigrations() fs.FS {
	if dir := os.Getenv(asNext); dir != "" {
		return os.DirFS(dir)
	}
	return nil
}

// What an operator sees of an upgrade: the plan, what is refused before it and after it.
func TestUpgradeIsPlannedAndDone(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		u.merchant(t, database)
		files := t.TempDir()
		for name, text := range map[string]string{
			"0036_notes_of_payments.expand.sql": "ALTER TABLE payments ADD COLUMN note TEXT NOT NULL DEFAULT '';",
			"0037_only_new_ones.contract.sql":   "CREATE TABLE only_new (id TEXT NOT NULL PRIMARY KEY);",
		} {
			if err := os.WriteFile(filepath.Join(files, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		next := u.with(asProgram+"=yes", asNext+"="+files)
		next.program = plain
		plan := func() string {
			t.Helper()
			out, log, code := next.run(t, "migrate", "--plan", "--database", database)
			if code != 0 {
				t.Fatalf("migrate --plan: exit %d %s", code, log)
			}
			return out
		}
		for range 2 { // it changes nothing
			if out := plan(); !strings.Contains(out, "35 of 37 migrations are done") || !strings.Contains(out, "36  expand    notes of payments") || !strings.Contains(out, "37  contract  only new ones") {
				t.Errorf("the plan:\n%s", out)
			}
		}
		if _, log, code := next.run(t, "check", "--database", database); code == 0 || !strings.Contains(log, "run cascada migrate") {
			t.Errorf("a newer check on an older database: exit %d %s", code, log)
		}
		if out, log, code := next.run(t, "migrate", "--database", database); code != 0 || !strings.Contains(out, "the schema is up to date") {
			t.Errorf("migrate: exit %d %s%s", code, out, log)
		}
		if out := plan(); !strings.Contains(out, "37 of 37") {
			t.Errorf("the plan of what is done:\n%s", out)
		}
		if out, log, code := next.run(t, "repair", "counters", "--database", database); code != 0 || !strings.Contains(out, "0 counters were mended") {
			t.Errorf("repair counters: exit %d %s%s", code, out, log)
		}
		next.check(t, database)
		if _, log, code := u.run(t, "check", "--database", database); code == 0 || !strings.Contains(log, "start a newer one") {
			t.Errorf("an older check after the contract: exit %d %s", code, log)
		}
	})
}
