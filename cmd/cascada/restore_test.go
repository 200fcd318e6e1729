package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
)

// A restore that is killed between two of its steps leaves no database, not an empty or an older one.
// No service starts then, and the next restore completes it.
func TestInterruptedRestoreIsCompleted(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	database := dbtest.SQLite(t)
	path := strings.TrimPrefix(database, "sqlite:")
	u = u.with("CASCADA_DATABASE=" + database)
	s := u.serve(t)
	k := u.merchant(t, database)
	pays := func(s *server, key string) (int, string) {
		status, reply := s.call("POST", "/payments", k.Keys.Sandbox.Secret, `{"amount":10,"paymentMethodId":"sbx_card"}`, http.Header{"Idempotency-Key": {key}})
		return status, text(reply, "transactionId")
	}
	pays(s, "before")
	copied := filepath.Join(u.dir, "copy.db")
	u.does(t, "backup", copied)
	_, lost := pays(s, "lost")
	s.kill()
	if _, err := os.Stat(path + "-wal"); err != nil {
		t.Fatal("a killed service left no WAL")
	}

	// As after a kill behind the first step.
	aside := path + ".before-20260101T000000Z"
	if err := os.Rename(path, aside); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"serve", "migrate"} {
		if _, log, code := u.run(t, command); code == 0 || !strings.Contains(log, aside) || !strings.Contains(log, "a restore was broken off") {
			t.Errorf("%s: exit %d, %s", command, code, log)
		}
	}
	if _, log, code := u.run(t, "restore", copied); code == 0 || !strings.Contains(log, "--move-aside") {
		t.Errorf("a restore over an existing WAL: exit %d, %s", code, log)
	}
	if out := u.does(t, "restore", copied, "--move-aside"); !strings.Contains(out, "the old database is now "+aside+"\n") {
		t.Errorf("the restore says %s", out)
	}
	s = u.serve(t)
	if status, _ := pays(s, "lost"); status != http.StatusServiceUnavailable {
		t.Errorf("a payment of the lost time is answered %d", status)
	}
	s.kill()

	// The database that was set aside is complete.
	old := u.with("CASCADA_DATABASE=sqlite:"+aside, "CASCADA_MASTER_KEY_FILE="+path+".key")
	old.does(t, "check")
	if story := old.story(t, "sqlite:"+aside, lost); !strings.Contains(story, "completed") {
		t.Errorf("the payment of the lost time is not in the database that was set aside: %s", story)
	}

	// Nothing that was set aside is overwritten, even if the next restore follows at once.
	for range 3 {
		u.does(t, "restore", copied, "--move-aside")
	}
	if found, err := filepath.Glob(path + ".before-*Z*"); err != nil || len(found) < 4 {
		t.Errorf("after four restores %v is set aside (%v)", found, err)
	}
}

// An emptied backup is refused: no empty service replaces the database.
func TestEmptyBackupIsRefused(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	database := dbtest.SQLite(t)
	u = u.with("CASCADA_DATABASE=" + database)
	u.does(t, "migrate")
	empty := filepath.Join(u.dir, "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, more := range [][]string{nil, {"--from", "2026-11-24T00:00:00Z"}} {
		if out, log, code := u.run(t, append([]string{"restore", empty, "--move-aside"}, more...)...); code == 0 || !strings.Contains(log, empty+": it is empty") {
			t.Errorf("restore %v: exit %d, %s%s", more, code, out, log)
		}
	}
	u.check(t, database)
}

// An unencrypted copy that a killed backup left behind is removed by the next backup.
func TestBackupRemovesLeftoversOfAKilledOne(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	database := dbtest.SQLite(t)
	u = u.with("CASCADA_DATABASE=" + database)
	u.does(t, "migrate")
	dir := t.TempDir()
	mine := filepath.Join(dir, ".cascada-notes")
	for _, name := range []string{filepath.Join(dir, ".cascada-copy-1"), filepath.Join(dir, ".cascada-copy-1-wal"), mine} {
		if err := os.WriteFile(name, []byte("left"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u.does(t, "backup", filepath.Join(dir, "copy.db"))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != ".cascada-notes copy.db" {
		t.Errorf("left: %s", got)
	}
}
