package main_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// asNext is the variable with the directory of the next version's migrations.
const asNext = "CASCADA_TEST_NEXT_MIGRATIONS"

func nextMigrations() fs.FS {
	if dir := os.Getenv(asNext); dir != "" {
		return os.DirFS(dir)
	}
	return nil
}

// newestMigration returns the version of the program's last migration.
func newestMigration(t testing.TB) int {
	t.Helper()
	files, err := filepath.Glob("../../internal/store/schema/migrations/[0-9]*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no migrations", err)
	}
	version, err := strconv.Atoi(filepath.Base(files[len(files)-1])[:4])
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// bringMigrations writes the next versions' migrations to a directory: one that both versions can use, and one
// that the older version cannot work with.
func bringMigrations(t testing.TB, dir string, after int) string {
	t.Helper()
	for name, text := range map[string]string{
		fmt.Sprintf("%04d_notes.expand.sql", after+1):           fmt.Sprintf("ALTER TABLE payments ADD COLUMN note%d TEXT NOT NULL DEFAULT '';", after),
		fmt.Sprintf("%04d_only_new_ones.contract.sql", after+2): fmt.Sprintf("CREATE TABLE only_new%d (id TEXT NOT NULL PRIMARY KEY);", after),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// An upgrade as the operator sees it: the plan, and what is refused before and after it.
func TestUpgradeIsPlannedAndDone(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		u.merchant(t, database)
		done := newestMigration(t)
		files := bringMigrations(t, t.TempDir(), done)
		next := u.asPlain(t).with(asNext + "=" + files)
		plan := func() string {
			t.Helper()
			out, log, code := next.run(t, "migrate", "--plan", "--database", database)
			if code != 0 {
				t.Fatalf("migrate --plan: exit %d %s", code, log)
			}
			return out
		}
		for range 2 { // it changes nothing
			if out := plan(); !strings.Contains(out, fmt.Sprintf("%d of %d migrations are done", done, done+2)) || !strings.Contains(out, fmt.Sprintf("%d  expand    notes", done+1)) || !strings.Contains(out, fmt.Sprintf("%d  contract  only new ones", done+2)) {
				t.Errorf("the plan:\n%s", out)
			}
		}
		if _, log, code := next.run(t, "check", "--database", database); code == 0 || !strings.Contains(log, "run cascada migrate") {
			t.Errorf("a newer check on an older database: exit %d %s", code, log)
		}
		if out, log, code := next.run(t, "migrate", "--database", database); code != 0 || !strings.Contains(out, "the schema is up to date") {
			t.Errorf("migrate: exit %d %s%s", code, out, log)
		}
		if out := plan(); !strings.Contains(out, fmt.Sprintf("%[1]d of %[1]d", done+2)) {
			t.Errorf("the plan after the migration:\n%s", out)
		}
		if out, log, code := next.run(t, "repair", "counters", "--database", database); code != 0 || !strings.Contains(out, "0 counters were corrected") {
			t.Errorf("repair counters: exit %d %s%s", code, out, log)
		}
		next.check(t, database)
		if _, log, code := u.run(t, "check", "--database", database); code == 0 || !strings.Contains(log, "start a newer one") {
			t.Errorf("an older check after the contract: exit %d %s", code, log)
		}
	})
}
