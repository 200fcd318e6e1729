package main_test

import (
	"database/sql"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cascadapay/cascada/internal/dbtest"
	_ "modernc.org/sqlite"
)

// What a newcomer does: start it, paste what it prints, see the money.
func TestPrintedLinesTakeAPayment(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, nil, "--listen", "127.0.0.1:0")
	await(t, "the lines to paste", func() bool { return strings.Contains(s.output(), "/me/balance") })
	var script strings.Builder
	for line := range strings.Lines(s.output()) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "TOKEN=") || strings.HasPrefix(line, "ID=") || strings.HasPrefix(line, "curl ") {
			script.WriteString(line + "\n")
		}
	}
	if strings.Count(script.String(), "\n") != 4 {
		t.Fatalf("want four lines to paste, got:\n%s", s.output())
	}
	out, err := exec.Command("bash", "-c", script.String()).CombinedOutput()
	if err != nil || !strings.Contains(string(out), `"status":"completed"`) || !strings.Contains(string(out), `"pending":23.66`) {
		t.Errorf("the pasted lines gave %v:\n%s", err, out)
	}
	info, err := os.Stat(filepath.Join(dir, "cascada.db.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file: %v, %v; want mode 0600", info, err)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("exit %d after SIGTERM:\n%s", code, s.output())
	}
	if out, log, code := run(t, dir, "check"); code != 0 {
		t.Errorf("check: exit %d\n%s%s", code, out, log)
	}
	again := serve(t, dir, nil, "--listen", "127.0.0.1:0")
	if strings.Contains(again.output(), "sk_test_") {
		t.Error("a second start made another demo merchant")
	}
}

func TestMerchantsAreMadeWhileTheServerRuns(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, database string) {
		dir := t.TempDir()
		s := serve(t, dir, nil, "--listen", "127.0.0.1:0", "--database", database)
		k := merchant(t, dir, database)
		if !strings.HasPrefix(k.Merchant.ID, "mer_") || !strings.HasPrefix(k.Shop.ID, "shp_") || k.Shop.Slug == "" || k.Merchant.Name != "Acme" {
			t.Errorf("merchant create --json: %+v", k)
		}
		for prefix, key := range map[string]string{
			"sk_test_": k.Keys.Sandbox.Secret, "pk_test_": k.Keys.Sandbox.Publishable,
			"sk_live_": k.Keys.Production.Secret, "pk_live_": k.Keys.Production.Publishable,
		} {
			if status, reply := call("GET", s.url+"/api/v1/ping", key, "", nil); status != 200 || !strings.HasPrefix(key, prefix) {
				t.Errorf("ping with %s…: %d %v", prefix, status, reply)
			}
		}
		out, log, code := run(t, dir, "key", "create", "--database", database, "--merchant", k.Merchant.ID, "--shop", k.Shop.ID)
		if status, _ := call("GET", s.url+"/api/v1/me", strings.TrimSpace(out), "", nil); code != 0 || status != 200 {
			t.Errorf("key create: exit %d, /me %d\n%s", code, status, log)
		}
	})
}

func TestFlagsMayBeGivenByEnvironment(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, []string{
		"CASCADA_LISTEN=127.0.0.1:0", "CASCADA_DATABASE=sqlite:other.db", "CASCADA_PUBLIC_URL=https://pay.example.com/",
		"CASCADA_MASTER_KEY=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
	})
	if s.url != "https://pay.example.com" {
		t.Errorf("public URL %s", s.url)
	}
	if _, err := os.Stat(filepath.Join(dir, "other.db")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "other.db.key")); err == nil {
		t.Error("a key file was made beside a configured master key")
	}
}

func TestAnotherMasterKeyIsRefused(t *testing.T) {
	dir := t.TempDir()
	serve(t, dir, nil, "--listen", "127.0.0.1:0").stop()
	out, log, code := run(t, dir, "check", "--master-key", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	if code == 0 || !strings.Contains(log, "master key does not fit") {
		t.Errorf("exit %d\n%s%s", code, out, log)
	}
}

func TestCheckNamesWhatIsBroken(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, nil, "--listen", "127.0.0.1:0")
	k := merchant(t, dir, "sqlite:cascada.db")
	if status, reply := call("POST", s.url+"/api/v1/payments", k.Keys.Sandbox.Secret, `{"amount":10,"paymentMethodId":"sbx_card"}`, nil); status != 201 {
		t.Fatalf("create: %d %v", status, reply)
	}
	s.stop()
	db, err := sql.Open("sqlite", filepath.Join(dir, "cascada.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("UPDATE balances SET available = available + 1"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	out, log, code := run(t, dir, "check")
	if code != 1 || !strings.Contains(out, k.Merchant.ID+" available") || !strings.Contains(out, "balance 1, postings 0") {
		t.Errorf("exit %d, want 1 and the balance named:\n%s%s", code, out, log)
	}
}

func TestMistakesOnTheCommandLineAreNamed(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, nil, "--listen", "127.0.0.1:0")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"port taken":       {[]string{"serve", "--listen", strings.TrimPrefix(s.url, "http://"), "--database", "sqlite:b.db"}, "address already in use"},
		"unknown flag":     {[]string{"serve", "--nonsense"}, "--nonsense"},
		"unknown command":  {[]string{"nonsense"}, "nonsense"},
		"unknown database": {[]string{"check", "--database", "mysql://x"}, "want sqlite:PATH or postgres://"},
		"bad master key":   {[]string{"check", "--master-key", "abc"}, "want 32 bytes in base64"},
		"no name":          {[]string{"merchant", "create", "--email", "a@b.co"}, "--name"},
		"no email":         {[]string{"merchant", "create", "--name", "A", "--email", "nonsense"}, "email"},
		"unknown fault":    {[]string{"serve", "--database", "sqlite:c.db", "--listen", "127.0.0.1:0", "--sandbox-fault", "sandbox-1=nonsense"}, "nonsense"},
	} {
		out, log, code := run(t, dir, c.args...)
		if code == 0 || !strings.Contains(out+log, c.want) {
			t.Errorf("%s: exit %d, want %q in\n%s%s", name, code, c.want, out, log)
		}
	}
	if out, _, code := run(t, dir, "--help"); code != 0 || !strings.Contains(out, "serve") || !strings.Contains(out, "check") {
		t.Errorf("--help: exit %d\n%s", code, out)
	}
}

// Two nodes on one database: what one wrote the other reads.
func TestNodesAreEqual(t *testing.T) {
	dir, database := t.TempDir(), dbtest.Postgres(t)
	one := serve(t, dir, nil, "--listen", "127.0.0.1:0", "--database", database)
	two := serve(t, dir, nil, "--listen", "127.0.0.1:0", "--database", database)
	k := merchant(t, dir, database)
	header := http.Header{"Idempotency-Key": {"k"}}
	_, first := call("POST", one.url+"/api/v1/payments", k.Keys.Sandbox.Secret, `{"amount":10,"paymentMethodId":"sbx_card"}`, header)
	status, second := call("POST", two.url+"/api/v1/payments", k.Keys.Sandbox.Secret, `{"amount":10,"paymentMethodId":"sbx_card"}`, header)
	if status != 201 || first["transactionId"] != second["transactionId"] {
		t.Errorf("one key on two nodes: %v and %v", first["transactionId"], second["transactionId"])
	}
	if status, reply := call("GET", two.url+"/api/v1/payments/"+first["transactionId"].(string), k.Keys.Sandbox.Secret, "", nil); status != 200 {
		t.Errorf("the other node's payment: %d %v", status, reply)
	}
	if out, log, code := run(t, dir, "check", "--database", database); code != 0 {
		t.Errorf("check: exit %d\n%s%s", code, out, log)
	}
}

// A deploy: what is under way ends well, nothing new is taken.
func TestSIGTERMDrains(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, nil, "--listen", "127.0.0.1:0", "--sandbox-fault", "sandbox-1=slow")
	k := merchant(t, dir, "sqlite:cascada.db").Keys.Sandbox.Secret
	replied := make(chan int)
	go func() {
		status, _ := call("POST", s.url+"/api/v1/payments", k, `{"amount":10,"paymentMethodId":"sbx_card"}`, nil)
		replied <- status
	}()
	await(t, "the provider's call", func() bool {
		_, list := call("GET", s.url+"/api/v1/payments?status=processing", k, "", nil)
		page, _ := list["pagination"].(map[string]any)
		return page["total"] == 1.0
	})
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if status := <-replied; status != 201 {
		t.Errorf("the payment under way got %d, want 201", status)
	}
	<-s.ended
	if code := s.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit %d:\n%s", code, s.output())
	}
	if status, _ := call("GET", s.url+"/healthz", k, "", nil); status != 0 {
		t.Errorf("a stopped server replied %d", status)
	}
	if out, log, code := run(t, dir, "check"); code != 0 {
		t.Errorf("check: exit %d\n%s%s", code, out, log)
	}
}
