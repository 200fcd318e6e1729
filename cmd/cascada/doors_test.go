package main_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Loopback may be a developer's machine, or services behind a proxy on the same host: only the
// operator knows.
func TestLoopbackWebhooksNeedAFlag(t *testing.T) {
	t.Parallel()
	const variable = "CASCADA_ALLOW_PRIVATE_WEBHOOKS"
	const hook = `{"events":["*"],"url":"http://127.0.0.1:9/"}`
	for name, c := range map[string]struct {
		environment []string
		args        []string
		want        int
	}{
		"by default":         {nil, nil, http.StatusBadRequest},
		"off":                {[]string{variable + "=false"}, nil, http.StatusBadRequest},
		"by flag":            {nil, []string{"--allow-private-webhooks"}, http.StatusCreated},
		"by the environment": {[]string{variable + "=true"}, nil, http.StatusCreated},
		"behind a proxy":     {nil, []string{"--trusted-proxies", "127.0.0.0/8"}, http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.env = append(slices.DeleteFunc(u.env, func(v string) bool { return strings.HasPrefix(v, variable) }), c.environment...)
			k := u.merchant(t, "sqlite:cascada.db")
			s := u.serve(t, c.args...)
			status, reply := s.call("POST", "/webhooks", k.Keys.Sandbox.Secret, hook, nil)
			if status != c.want {
				t.Errorf("%d %v, want %d", status, reply, c.want)
			}
			if said := text(reply, "error", "message"); status == http.StatusBadRequest && !strings.Contains(said, "--allow-private-webhooks") {
				t.Errorf("%q does not say what a developer can do", said)
			}
			if status, reply := s.call("POST", "/webhooks", k.Keys.Production.Secret, hook, nil); status != http.StatusBadRequest {
				t.Errorf("in production: %d %v, want 400", status, reply)
			}
		})
	}
}

// Files with keys, shoppers' names and money are only for the service's own user.
func TestFilesAreOnlyForTheOwner(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	s := u.serve(t)
	found := 0
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(filepath.WalkDir(u.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if found++; info.Mode().Perm() != 0o600 {
			t.Errorf("%s is %s, want -rw-------", d.Name(), info.Mode())
		}
		return nil
	}))
	if found < 4 { // database, log, key, lock
		t.Errorf("%d files in the directory, want at least 4", found)
	}
	s.stop()
}

func TestProfilesHaveAFlagOfTheirOwn(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	metrics, profiles := freePort(t), freePort(t)
	s := u.serve(t, "--metrics", metrics, "--pprof", profiles)
	for url, want := range map[string]int{
		"http://" + metrics + "/metrics":       http.StatusOK,
		"http://" + metrics + "/debug/pprof/":  http.StatusNotFound,
		"http://" + profiles + "/debug/pprof/": http.StatusOK,
		"http://" + profiles + "/metrics":      http.StatusNotFound,
		s.url + "/debug/pprof/":                http.StatusNotFound,
		s.url + "/metrics":                     http.StatusNotFound,
	} {
		r, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s answers %s, want %d", url, r.Status, want)
		}
	}
	const warning = "a listener without credentials can be reached from other machines"
	if s.stop(); strings.Contains(s.output(), warning) {
		t.Error("it warns of listeners on loopback")
	}
	wide := u.serve(t, "--metrics", ":0", "--pprof", ":0")
	if got := strings.Count(wide.output(), warning); got != 2 {
		t.Errorf("%d warnings of public listeners, want 2:\n%s", got, wide.output())
	}
}

func TestOperatorEndsLogins(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	k := u.merchant(t, "sqlite:cascada.db")
	s := u.serve(t)
	login := func() (access string) {
		status, reply := s.call("POST", "/auth/token", "", `{"apiKey":"`+k.Keys.Sandbox.Publishable+`","secretKey":"`+k.Keys.Sandbox.Secret+`"}`, nil)
		if status != http.StatusOK {
			t.Fatalf("login: %d %v", status, reply)
		}
		return text(reply, "accessToken")
	}
	first, second := login(), login()
	entries := u.does(t, "audit", "list", "--merchant", k.Merchant.ID, "--json")
	id := regexp.MustCompile(`lgn_[0-9A-Z]+`).FindString(entries)
	refused := func(token string) bool {
		status, _ := s.call("GET", "/me", token, "", nil)
		return status == http.StatusUnauthorized
	}
	u.does(t, "key", "logout", id)
	await(t, "the first login to end", func() bool { return refused(first) })
	if refused(second) {
		t.Error("the second login ended with the first")
	}
	if out := u.does(t, "key", "logout", "--merchant", k.Merchant.ID, "--reason", "a phone was lost"); !strings.Contains(out, "logins ended: 1") {
		t.Errorf("key logout printed %q", out)
	}
	await(t, "the second login to end", func() bool { return refused(second) })
	for _, args := range [][]string{{}, {id, "--merchant", k.Merchant.ID}, {"lgn_none"}, {"--key", "key_none"}, {"--merchant", "mer_none"}} {
		if _, log, code := u.run(t, append([]string{"key", "logout"}, args...)...); code == 0 || log == "" {
			t.Errorf("key logout %v: exit %d %q", args, code, log)
		}
	}
	s.stop()
}

// A key is found by its id, replaced without a gap, and ends at its time.
func TestKeysAreListedRotatedAndExpire(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	k := u.merchant(t, "sqlite:cascada.db")
	s := u.serve(t)
	works := func(key string) bool {
		status, _ := s.call("GET", "/me", key, "", nil)
		return status == http.StatusOK
	}
	list := func(args ...string) string {
		return u.does(t, append([]string{"key", "list", "--merchant", k.Merchant.ID}, args...)...)
	}
	secret := k.Keys.Sandbox.Secret
	idOf := func(key string) string {
		t.Helper()
		for line := range strings.Lines(list()) {
			if fields := strings.Fields(line); len(fields) > 1 && strings.HasSuffix(fields[1], "…"+key[len(key)-4:]) {
				return fields[0]
			}
		}
		t.Fatalf("key list lacks a key:\n%s", list())
		return ""
	}
	u.fails(t, "a restricted key needs rights", "key", "create", "--merchant", k.Merchant.ID, "--kind", "restricted")
	u.fails(t, `"fly" is not a right`, "key", "create", "--merchant", k.Merchant.ID, "--kind", "restricted", "--rights", "fly")
	reader := strings.TrimSpace(u.does(t, "key", "create", "--merchant", k.Merchant.ID, "--shop", k.Shop.ID, "--kind", "restricted", "--rights", "read"))
	if status, reply := s.call("POST", "/payments", reader, `{"amount":10,"paymentMethodId":"sbx_card"}`, nil); !works(reader) || status != http.StatusForbidden {
		t.Errorf("a key with only the right to read: POST /payments %d %v", status, reply)
	}
	u.does(t, "key", "revoke", idOf(reader))
	if out := list(); strings.Count(out, "key_") != 4 || strings.Contains(out, secret) {
		t.Errorf("key list prints\n%s", out)
	}
	next := strings.TrimSpace(u.does(t, "key", "rotate", idOf(secret), "--grace", "1h"))
	if !works(secret) || !works(next) {
		t.Error("after a rotation with a grace both keys must work")
	}
	if out := list("--json"); strings.Count(out, `"endsAt":"20`) != 1 || strings.Count(out, "\n") != 5 {
		t.Errorf("after a rotation key list prints\n%s", out)
	}
	third := strings.TrimSpace(u.does(t, "key", "rotate", idOf(next), "--grace", "0s"))
	await(t, "the rotated key to be refused", func() bool { return !works(next) })
	if !works(third) || !works(secret) {
		t.Error("the newest key and the one in its grace must work")
	}
	if out := list(); strings.Count(out, "\nkey_") != 5 { // ended keys are left out
		t.Errorf("key list lists keys that have ended:\n%s", out)
	}
	if out := list("--all"); strings.Count(out, "\nkey_") != 7 { // with the ended keys
		t.Errorf("key list --all prints\n%s", out)
	}
	short := strings.TrimSpace(u.does(t, "key", "create", "--merchant", k.Merchant.ID, "--shop", k.Shop.ID, "--expires", "3s"))
	if !works(short) {
		t.Error("a key that expires in three seconds does not work")
	}
	await(t, "the key to expire", func() bool { return !works(short) })
	u.does(t, "key", "revoke", idOf(third))
	await(t, "the revoked key to be refused", func() bool { return !works(third) })
	for _, args := range [][]string{
		{"key", "rotate", "key_none"}, {"key", "revoke", "key_none"}, {"key", "list", "--merchant", "mer_none"}, {"key", "revoke", "-"},
		{"key", "create", "--merchant", k.Merchant.ID, "--expires", "-1h"}, {"key", "rotate", idOf(secret), "--grace", "-1h"},
	} {
		if out, log, code := u.run(t, args...); code == 0 || log == "" {
			t.Errorf("%v: exit %d %q %q", args, code, out, log)
		}
	}
	s.stop()
	u.check(t, "sqlite:cascada.db")
}
