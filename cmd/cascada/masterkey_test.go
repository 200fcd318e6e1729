package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fingerprints returns the keys that master-key list prints, with the state of each.
func (u user) fingerprints(t *testing.T) (keys []string, said string) {
	t.Helper()
	said = u.does(t, "master-key", "list")
	for _, line := range strings.Split(strings.TrimSpace(said), "\n")[1:] {
		keys = append(keys, strings.Fields(line)[0])
	}
	return keys, said
}

// The operator rotates the master key with the commands in docs/OPERATIONS.md.
func TestOperatorRotatesTheMasterKey(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := u.serve(t)
	key := u.merchant(t, "sqlite:cascada.db").Keys.Sandbox.Secret
	pays := func() {
		t.Helper()
		if status, reply := s.call("POST", "/payments", key, `{"amount":10,"paymentMethodId":"sbx_card"}`, nil); status != http.StatusCreated {
			t.Errorf("POST /payments: %d %v", status, reply)
		}
	}
	before, said := u.fingerprints(t)
	if len(before) != 1 || !strings.Contains(said, "encrypts") {
		t.Fatalf("master-key list:\n%s", said)
	}
	u.fails(t, "is the current one already", "master-key", "rotate")
	u.fails(t, "is the key that encrypts: rotate to another key first", "master-key", "remove", before[0])

	u.does(t, "master-key", "add")
	after, said := u.fingerprints(t)
	if len(after) != 2 || !strings.Contains(said, after[1]+"  0        waits for master-key rotate") {
		t.Fatalf("master-key list:\n%s", said)
	}
	s.stop()
	s = u.serve(t)
	pays()
	if told := u.does(t, "master-key", "rotate"); !strings.Contains(told, after[1]+" encrypts from now on") {
		t.Errorf("master-key rotate: %s", told)
	}
	pays()
	if _, said = u.fingerprints(t); !strings.Contains(said, before[0]+"  0        may be removed") {
		t.Errorf("master-key list:\n%s", said)
	}
	if log := u.does(t, "audit", "list"); !strings.Contains(log, "master_key.rotated") {
		t.Errorf("the audit log has no entry of it:\n%s", log)
	}
	path := filepath.Join(u.dir, "cascada.db.key")
	both, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	u.does(t, "master-key", "remove", before[0])
	one, err := os.ReadFile(path)
	if err != nil || strings.Count(string(one), "\n") != 1 || !strings.Contains(string(both), string(one)) {
		t.Errorf("the file has %d lines (%v), want only the new key", strings.Count(string(one), "\n"), err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want mode 0600", info.Mode(), err)
	}
	pays()
	// The server now encrypts under a key that is kept.
	if status, reply := s.call("POST", "/webhooks", key, `{"url":"http://127.0.0.1:1/","events":["*"]}`, nil); status != http.StatusCreated {
		t.Errorf("POST /webhooks: %d %v", status, reply)
	}
	s.stop()
	s = u.serve(t)
	pays()
	if _, said := u.fingerprints(t); strings.Contains(said, "none of these") {
		t.Errorf("a secret is encrypted under the key that was removed:\n%s", said)
	}
	s.stop()
	u.check(t, "sqlite:cascada.db")

	// If the keys are in a variable, nothing is written to a file.
	kept := u.with("CASCADA_MASTER_KEY=" + strings.ReplaceAll(strings.TrimSpace(string(both)), "\n", ","))
	if keys, _ := kept.fingerprints(t); len(keys) != 2 {
		t.Errorf("%d keys of a variable, want 2", len(keys))
	}
	kept.fails(t, "in CASCADA_MASTER_KEY", "master-key", "add")
	if printed := strings.TrimSpace(kept.does(t, "master-key", "add", "--print")); len(printed) != 44 || strings.Contains(string(both), printed) {
		t.Errorf("master-key add --print prints %q", printed)
	}
}

// If the command says that a key is in the file, it is there, even if others change the file at the same time.
func TestMasterKeysAreAddedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.serve(t).stop()
	var all sync.WaitGroup
	var told sync.Map
	for range 4 {
		all.Go(func() {
			out, log, code := u.run(t, "master-key", "add")
			switch {
			case code == 0:
				told.Store(strings.Fields(out)[0], true)
			case !strings.Contains(log, "another command is changing the master keys"):
				t.Errorf("master-key add: %s", log)
			}
		})
	}
	all.Wait()
	keys, said := u.fingerprints(t)
	n := 0
	told.Range(func(key, _ any) bool {
		n++
		if !slices.Contains(keys, key.(string)) {
			t.Errorf("%s is reported, and is not in the file:\n%s", key, said)
		}
		return true
	})
	if n == 0 || len(keys) != n+1 {
		t.Errorf("%d keys were reported beside the first one:\n%s", n, said)
	}
}

// Everybody on the machine can read the arguments of a program.
func TestSecretsAreNotArguments(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	u.does(t, "migrate")
	u.fails(t, "unknown flag --master-key", "check", "--master-key", otherKey)
	key, err := os.ReadFile(filepath.Join(u.dir, "cascada.db.key"))
	if err != nil {
		t.Fatal(err)
	}
	u.write(t, "elsewhere", string(key))
	if err := os.Remove(filepath.Join(u.dir, "cascada.db.key")); err != nil {
		t.Fatal(err)
	}
	u.does(t, "check", "--master-key-file", "elsewhere")
	u.with("CASCADA_MASTER_KEY_FILE=elsewhere").does(t, "check")
	out, log, code := u.pipe(t, string(key), "check", "--master-key-file", "/dev/stdin")
	if code != 0 {
		t.Errorf("a key from standard input: exit %d\n%s%s", code, out, log)
	}
}
