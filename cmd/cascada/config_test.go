package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// settings returns the settings that config check prints: value and origin by name.
func (u user) settings(t testing.TB, args ...string) map[string][2]string {
	t.Helper()
	out, log, code := u.run(t, append([]string{"config", "check"}, args...)...)
	if code != 0 {
		t.Fatalf("config check: exit %d\n%s%s", code, out, log)
	}
	found := map[string][2]string{}
	for line := range strings.Lines(out) {
		if part := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), 3); len(part) == 3 {
			found[part[0]] = [2]string{part[1], part[2]}
		}
	}
	return found
}

// plainUser has none of our variables in the environment.
func plainUser(t testing.TB) user {
	u := newUser(t)
	var env []string
	for _, v := range u.env {
		if !strings.HasPrefix(v, "CASCADA_") {
			env = append(env, v)
		}
	}
	u.env = env
	return u
}

// A flag wins over the environment, that over the file, and that over the default, in every command.
func TestFlagWinsOverEnvironmentOverFile(t *testing.T) {
	t.Parallel()
	u := plainUser(t)
	file := u.write(t, "c.yaml", "listen: 127.0.0.1:0\ndatabase: sqlite:"+u.dir+"/file.db\nmetrics: 127.0.0.1:0\nrate-limit-tiers: {starter: 5, trusted: 9}\ntrusted-proxies: [10.0.0.0/8, \"::1/128\"]\nprove-webhooks: true\nrouting: least_cost\nretain-shoppers: 7\n")
	by := u.with("CASCADA_METRICS=127.0.0.1:1")
	got := by.settings(t, file)
	for name, want := range map[string][2]string{
		"listen": {"127.0.0.1:0", file + ", line 1"}, "metrics": {"127.0.0.1:1", "CASCADA_METRICS"}, "rate-limit-tiers": {"starter=5,trusted=9", file + ", line 4"},
		"trusted-proxies": {"10.0.0.0/8,::1/128", file + ", line 5"}, "prove-webhooks": {"true", file + ", line 6"}, "max-connections": {"8192", "default"},
		"routing": {"least_cost", file + ", line 7"}, "retain-shoppers": {"7", file + ", line 8"},
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	u = u.with("CASCADA_CONFIG="+file, "CASCADA_DATABASE=sqlite:"+u.dir+"/variable.db")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"migrate", "--database", "sqlite:" + u.dir + "/flag.db"}, "flag.db"},
		{[]string{"migrate"}, "variable.db"},
	} {
		if out, log, code := u.run(t, c.args...); code != 0 {
			t.Fatalf("%v: exit %d %s%s", c.args, code, out, log)
		}
		if _, err := os.Stat(filepath.Join(u.dir, c.want)); err != nil {
			t.Errorf("%v did not use %s", c.args, c.want)
		}
	}
	u = plainUser(t)
	s := u.serve(t, "--config", file)
	if !strings.Contains(s.output(), "file.db") {
		t.Errorf("serve does not use the file's database: %s", s.output())
	}
	s.stop()
	if out, log, code := u.run(t, "--config", file, "check"); code != 0 {
		t.Errorf("check --config: exit %d %s%s", code, out, log)
	}
}

// Errors name their line and key, all at once, and serve refuses to start with the same errors.
func TestWrongSettingsAreNamed(t *testing.T) {
	t.Parallel()
	u := plainUser(t)
	file := u.write(t, "c.yaml", `listen: 127.0.0.1:0
metrcs: 127.0.0.1:9464
max-connections: 0
routing: best
fx-every: soon
trusted-proxies: ten
database: sqlite:a.db
database-file: b
webhooks-per-shop: [1, 2]
`)
	for _, args := range [][]string{{"config", "check", file}, {"config", "check", "--config", file}, {"serve", "--config", file}, {"check", "--config", file}} {
		out, log, code := u.run(t, args...)
		for _, want := range []string{
			"line 2: metrcs: there is no such setting; did you mean metrics?", "line 3: max-connections: want at least 1", `line 4: routing: want one of priority, least_cost, success_rate, not "best"`,
			"line 5: fx-every: ", "line 6: trusted-proxies: ", "line 8: database-file: database is in line 7: keep one of the two", "line 9: webhooks-per-shop: want one value, not a list",
		} {
			if code == 0 || !strings.Contains(log, want) {
				t.Errorf("%v: exit %d, want %q in\n%s%s", args, code, want, out, log)
			}
		}
	}
	for _, c := range []struct{ text, want string }{
		{"listen: nowhere", "listen: want an address of this machine and a port"},
		{"database: mysql://x", "no engine that is known"},
		{"database: postgres://a:geheim@b:x/c", "invalid port"},
		{"smtp-url: smtp://a@b", "set --mail-from too"},
		{"oidc-issuer: https://login.example.com", "set --oidc-client-id too"},
		{"oidc-name: Acme", "set --oidc-issuer too"},
		{"oidc-issuer: http://login.example.com\noidc-client-id: a", "--oidc-issuer: the issuer is not an https address"},
		{"oidc-issuer: https://a:geheim@login.example.com\noidc-client-id: a", "--oidc-issuer: the issuer is not an https address"},
		{"redis: nowhere", "redis: want redis://"},
		{"fx-url: ftp://x", "the address of the exchange rates must be"},
		{"rate-limit-logins: -1", "every figure must be above zero"},
		{"master-key-file: " + file, "want 32 bytes in base64"},
		{"database-file: /none", "read database: open /none"},
	} {
		path := u.write(t, "one.yaml", c.text)
		if out, log, code := u.run(t, "config", "check", path); code != 1 || !strings.Contains(log, c.want) || strings.Contains(out+log, "geheim") {
			t.Errorf("%s: exit %d, want %q in\n%s%s", c.text, code, c.want, out, log)
		}
	}
	if _, log, code := u.run(t, "config", "check", "none.yaml"); code != 1 || !strings.Contains(log, "none.yaml") {
		t.Errorf("a missing file: exit %d, %s", code, log)
	}
	if entries, err := os.ReadDir(u.dir); err != nil || len(entries) != 2 {
		t.Errorf("config check created files: %v (%v)", entries, err)
	}
}

// Values from the environment are checked like those from the command line and the file, by config check and
// by serve.
func TestWrongSettingsOfTheEnvironmentAreNamed(t *testing.T) {
	t.Parallel()
	u := plainUser(t)
	for _, c := range []struct{ variable, want string }{
		{"CASCADA_RETAIN_SHOPPERS=213504", "--retain-shoppers (CASCADA_RETAIN_SHOPPERS): want 0 to 36500 days"}, // it overflows a time.Duration
		{"CASCADA_WEBHOOKS_PER_SHOP=0", "--webhooks-per-shop (CASCADA_WEBHOOKS_PER_SHOP): want at least 1"},
		{"CASCADA_PUBLIC_URL=https://a:geheim@b", "--public-url (CASCADA_PUBLIC_URL): want http:// or https://"},
		{"CASCADA_DRAIN_DELAY=-1s", "drain delay: want zero or more"},
		{"CASCADA_WALLET_COOL_DOWN=-1h", "wallet cool-down: want zero or more"},
		{"CASCADA_OTLP_ENDPOINT=nowhere", "the address of the collector of traces: want http"},
	} {
		wrong := u.with(c.variable)
		for _, args := range [][]string{{"config", "check"}, {"serve", "--listen", "127.0.0.1:0"}} {
			if out, log, code := wrong.run(t, args...); code == 0 || !strings.Contains(log, c.want) || strings.Contains(out+log, "geheim") {
				t.Errorf("%s, %v: exit %d, want %q in\n%s%s", c.variable, args, code, c.want, out, log)
			}
		}
	}
	if out, log, code := u.with("CASCADA_OTLP_ENDPOINT=https://a:geheim@b/c?key=geheim").run(t, "config", "check"); code != 0 || strings.Contains(out+log, "geheim") {
		t.Errorf("a collector with a password: exit %d, %s%s", code, out, log)
	}
}

// Every secret is read from a file or from a systemd credential, and none is shown.
func TestSecretsAreReadFromFilesAndNotShown(t *testing.T) {
	t.Parallel()
	u := plainUser(t)
	const secret = "geheim"
	database := u.write(t, "database", "postgres://cascada:"+secret+"@127.0.0.1:1/cascada?sslpassword="+secret+"\n")
	redis := u.write(t, "redis", "redis://:"+secret+"@127.0.0.1:1/0")
	fx := u.write(t, "fx", "https://rates.example.com/v1?key="+secret+"\n")
	smtp := u.write(t, "smtp", secret+"\n")
	oidc := u.write(t, "oidc", secret+"\n")
	file := u.write(t, "c.yaml", "database-file: "+database+"\nredis-file: "+redis+"\nfx-url-file: "+fx+"\nsmtp-password-file: "+smtp+"\nsmtp-url: smtp://a@mail.example.com\nmail-from: a@example.com\noidc-issuer: https://login.example.com\noidc-client-id: cascada\noidc-client-secret-file: "+oidc+"\n")
	credentials := filepath.Join(u.dir, "credentials")
	if err := os.Mkdir(credentials, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{"database": database, "redis": redis, "fx-url": fx, "smtp-password": smtp, "oidc-client-secret": oidc} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		u.write(t, "credentials/cascada_"+name, string(text))
	}
	key, _, _ := u.run(t, "master-key", "add", "--print")
	u.write(t, "credentials/cascada_master-key", key)
	mail := []string{"CASCADA_SMTP_URL=smtp://a@mail.example.com", "CASCADA_MAIL_FROM=a@example.com", "CASCADA_OIDC_ISSUER=https://login.example.com", "CASCADA_OIDC_CLIENT_ID=cascada"}
	for name, as := range map[string]user{
		"file":        u.with("CASCADA_CONFIG=" + file),
		"variables":   u.with(mail...).with("CASCADA_DATABASE_FILE="+database, "CASCADA_REDIS_FILE="+redis, "CASCADA_FX_URL_FILE="+fx, "CASCADA_SMTP_PASSWORD_FILE="+smtp, "CASCADA_OIDC_CLIENT_SECRET_FILE="+oidc),
		"credentials": u.with(mail...).with("CREDENTIALS_DIRECTORY=" + credentials),
	} {
		out, log, code := as.run(t, "config", "check")
		if code != 0 || strings.Contains(out+log, secret) || strings.Contains(out, strings.TrimSpace(key)) {
			t.Errorf("%s: exit %d\n%s%s", name, code, out, log)
		}
		for _, want := range []string{"postgres://cascada:xxxxx@127.0.0.1:1/cascada", "redis://:xxxxx@127.0.0.1:1/0", "https://rates.example.com/…"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: want %s in\n%s", name, want, out)
			}
		}
		if name != "credentials" {
			as = as.with("CASCADA_MASTER_KEY=" + strings.TrimSpace(key))
		}
		if _, log, code := as.run(t, "check"); code == 0 || !strings.Contains(log, "127.0.0.1:1") || strings.Contains(log, secret) {
			t.Errorf("%s: check does not use that database, or shows its password: exit %d %s", name, code, log)
		}
	}
	got := u.with("CREDENTIALS_DIRECTORY="+credentials, "CASCADA_DATABASE=sqlite:near.db").with(mail...).settings(t)
	if got["database"] != [2]string{"sqlite:near.db", "CASCADA_DATABASE"} || got["redis"][1] != "credential cascada_redis" || got["master-key-file"][1] != "credential cascada_master-key" {
		t.Errorf("the environment does not win over credentials: %q", got)
	}
}

// A secret that is given twice is refused: commands could use another database than the service.
func TestSecretsAreGivenOnce(t *testing.T) {
	t.Parallel()
	u := plainUser(t)
	other := u.write(t, "database", "sqlite:other.db")
	u.write(t, "cascada_database", "sqlite:credential.db")
	file := u.write(t, "c.yaml", "database: sqlite:file.db")
	two := u.write(t, "two", "a\nb\n")
	for _, c := range []struct {
		as   user
		args []string
		want string
	}{
		{u, []string{"check", "--database", "sqlite:a.db", "--database-file", other}, "given twice, by --database and by --database-file"},
		{u.with("CASCADA_DATABASE=sqlite:a.db", "CASCADA_DATABASE_FILE="+other), []string{"check"}, "given twice, by CASCADA_DATABASE and by CASCADA_DATABASE_FILE"},
		{u.with("CREDENTIALS_DIRECTORY=" + u.dir), []string{"check", "--config", file}, "given twice, by " + file + ", line 1 and by credential cascada_database"},
		{u, []string{"check", "--database-file", two}, "want exactly one line"},
		{u, []string{"check", "--database-file", u.dir + "/none"}, "no such file"},
	} {
		if _, log, code := c.as.run(t, c.args...); code == 0 || !strings.Contains(log, c.want) {
			t.Errorf("%v: exit %d, %s, want %q", c.args, code, log, c.want)
		}
	}
	if _, log, _ := u.run(t, "check", "--database", "postgres://a:geheim@127.0.0.1:1/b"); !strings.Contains(log, "the arguments contain a password") || strings.Contains(log, "geheim") {
		t.Errorf("no warning of a password in the arguments, or it is shown: %s", log)
	}
}
