package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	main "github.com/cascadapay/cascada/cmd/cascada"
	"github.com/cascadapay/cascada/internal/dbtest"
)

// otherKey is a master key that no test's database uses.
const otherKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

func TestHelpKnowsEveryCommand(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	help, _, code := u.run(t, "--help")
	commands := regexp.MustCompile(`(?m)^  ([a-z]+(?:[ -][a-z]+)*)(?: \[?<\w+>\]?(?: \.\.\.)?| --\w+=\w+)*(?: \[flags\])?$`).FindAllStringSubmatch(help, -1)
	if code != 0 || len(commands) < 8 {
		t.Fatalf("--help: exit %d, commands %v:\n%s", code, commands, help)
	}
	known := map[string]bool{}
	helps := main.Help() // a process for each of them would take ten seconds
	for _, c := range commands {
		known[c[1]] = true
		out, own := helps(strings.Fields(c[1])...)
		if own != out {
			t.Errorf("%s --help by its own model:\n%s\nwant\n%s", c[1], own, out)
		}
		summary, _, _ := strings.Cut(strings.TrimPrefix(out, "Usage: cascada "+c[1]), "Flags:")
		if !strings.HasPrefix(out, "Usage: cascada "+c[1]) || len(strings.Fields(summary)) < 3 {
			t.Errorf("%s --help: want a summary:\n%s", c[1], out)
		}
		// A flag has its help on its line or on the next.
		for _, flag := range regexp.MustCompile(`(?m)^ +(--\S+)\n? *([^ \n]*)`).FindAllStringSubmatch(out, -1) {
			if flag[2] == "" {
				t.Errorf("%s --help does not say what %s is for", c[1], flag[1])
			}
			if strings.HasSuffix(flag[1], `=""`) {
				t.Errorf("%s --help does not say what %s takes", c[1], flag[1])
			}
		}
	}
	for _, want := range []string{"serve", "migrate", "merchant create", "merchant terms", "key list", "key create", "key rotate", "key revoke", "key logout", "login", "logout", "listen", "trigger", "logs tail", "fixtures", "open", "payment list", "payment resolve", "withdrawal list", "withdrawal resolve", "claim list", "claim show", "claim ask", "claim resolve", "claim book", "fx list", "fx set", "fx import", "provider adapters", "provider add", "provider list", "provider show", "provider set", "provider rotate",
		"provider enable", "provider disable", "provider check", "provider remove", "provider apply", "user invite", "user list", "user link", "user role", "user unlock", "user sign-out", "user remove", "operator add", "operator list", "operator remove", "explain", "kyc list", "kyc approve", "kyc reject", "settlement list", "settlement show", "settlement pay", "privacy export", "privacy erase", "check", "story", "bench", "config check", "completion bash", "version"} {
		if !known[want] {
			t.Errorf("--help does not name %q:\n%s", want, help)
		}
	}
	if entries, err := os.ReadDir(u.dir); err != nil || len(entries) > 0 {
		t.Errorf("--help left %v in the directory (%v)", entries, err)
	}
}

// Help and the version are where users of other programs expect them.
func TestHelpAndVersionByOtherNames(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	for _, c := range [][2][]string{
		{{"help"}, {"--help"}}, {{"help", "fx", "set"}, {"fx", "set", "--help"}}, {{"--version"}, {"version"}},
	} {
		got, log, code := u.run(t, c[0]...)
		want, _, _ := u.run(t, c[1]...)
		if code != 0 || got == "" || got != want {
			t.Errorf("cascada %s: exit %d, %s%s, want what %s says", strings.Join(c[0], " "), code, got, log, strings.Join(c[1], " "))
		}
	}
	u.serve(t)
	if _, log, code := u.run(t, "fx", "list", "brl"); code != 0 {
		t.Errorf("fx list brl: exit %d: %s", code, log)
	}
}

func TestMistakesOnTheCommandLineAreNamed(t *testing.T) {
	t.Parallel()
	u := newUser(t)
	taken := strings.TrimPrefix(u.serve(t).url, "http://")
	acme, other := u.merchant(t, "sqlite:cascada.db"), u.merchant(t, "sqlite:cascada.db")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"port taken":          {[]string{"serve", "--listen", taken, "--database", "sqlite:b.db"}, "address already in use"},
		"unknown flag":        {[]string{"serve", "--nonsense"}, "unknown flag --nonsense"},
		"unknown command":     {[]string{"nonsense"}, "nonsense"},
		"no command":          {nil, "expected one of"},
		"no name":             {[]string{"merchant", "create", "--email", "a@b.co"}, "--name"},
		"no email":            {[]string{"merchant", "create", "--name", "A", "--email", "nonsense"}, "email"},
		"unknown tier":        {[]string{"merchant", "create", "--name", "A", "--email", "a@b.co", "--tier", "gold"}, "--tier"},
		"unknown fee term":    {[]string{"merchant", "create", "--name", "A", "--email", "a@b.co", "--refund-fees", "lost"}, "--refund-fees"},
		"unknown merchant":    {[]string{"merchant", "terms", "mer_nobody"}, "mer_nobody: not found"},
		"unknown language":    {[]string{"merchant", "create", "--name", "A", "--email", "a@b.co", "--language", "fr"}, "--language"},
		"unknown settlement":  {[]string{"settlement", "show", "STL-NOBODY"}, "STL-NOBODY: settlement_not_found"},
		"paid settlement":     {[]string{"settlement", "pay", "--reference", "TED 1", "STL-NOBODY"}, "STL-NOBODY: settlement_not_found"},
		"pay, no database":    {[]string{"settlement", "pay", "--reference", "TED 1", "--database", "sqlite:typo.db", "STL-A"}, "there is no database at typo.db"},
		"unknown fault":       {[]string{"serve", "--database", "sqlite:c.db", "--sandbox-fault", "sandbox-1=nonsense"}, "nonsense"},
		"key of nobody":       {[]string{"key", "create", "--merchant", "mer_nobody"}, "mer_nobody: not found"},
		"unknown shop":        {[]string{"key", "create", "--merchant", acme.Merchant.ID, "--shop", "shp_nobody"}, "shp_nobody: not found"},
		"another's shop":      {[]string{"key", "create", "--merchant", acme.Merchant.ID, "--shop", other.Shop.ID}, other.Shop.ID + ": not found"},
		"unknown key":         {[]string{"key", "revoke", "--database", "sqlite:cascada.db", "key_none"}, "key key_none: not found"},
		"check, no database":  {[]string{"check", "--database", "sqlite:typo.db"}, "there is no database at typo.db"},
		"story, no database":  {[]string{"story", "--database", "sqlite:typo.db", "TXN-A"}, "there is no database at typo.db"},
		"bench, no database":  {[]string{"bench", "--database", "sqlite:typo.db"}, "there is no database at typo.db"},
		"key, no database":    {[]string{"key", "create", "--database", "sqlite:typo.db", "--merchant", "mer_a"}, "there is no database at typo.db"},
		"unknown claim":       {[]string{"claim", "show", "CLM-NOBODY"}, "claim_not_found"},
		"claims, no database": {[]string{"claim", "list", "--database", "sqlite:typo.db"}, "there is no database at typo.db"},
		"unknown outcome":     {[]string{"claim", "resolve", "CLM-A", "--outcome", "maybe", "--note", "x"}, "approved"},
		"claim without note":  {[]string{"claim", "resolve", "CLM-A", "--outcome", "approved"}, "--note"},
		"a limit of 0":        {[]string{"claim", "list", "--limit", "0"}, "--limit: want at least 1"},
		"a limit below 0":     {[]string{"settlement", "list", "--limit=-1"}, "--limit: want at least 1"},
		"no connections":      {[]string{"bench", "--connections", "0"}, "connections must be from 1"},
		"unknown withdrawal":  {[]string{"story", "wdr_NOBODY"}, "story of wdr_NOBODY: not found"},
		"unknown refund":      {[]string{"story", "CLM-NOBODY"}, "story of CLM-NOBODY: not found"},
		"a story of an event": {[]string{"story", "evt_NOBODY"}, "story of evt_NOBODY: not found"},
		"unknown payment":     {[]string{"story", "TXN-NOBODY"}, "TXN-NOBODY: not found"},
	} {
		out, log, code := u.run(t, c.args...)
		if code == 0 || !strings.Contains(log, c.want) {
			t.Errorf("%s: exit %d, want an error that says %q:\n%s%s", name, code, c.want, out, log)
		}
	}
	foreign := u.with("CASCADA_MASTER_KEY=" + otherKey)
	foreign.fails(t, "want sqlite:PATH or postgres://", "check", "--database", "mysql://x")
	foreign.fails(t, "127.0.0.1", "check", "--database", "postgres://127.0.0.1:1/x")
	foreign.fails(t, "nowhere", "check", "--database", "sqlite:nowhere/a.db")
	foreign.fails(t, "master key does not fit", "check")
	u.with("CASCADA_MASTER_KEY=abc").fails(t, "want 32 bytes in base64", "check")
	if files, err := filepath.Glob(filepath.Join(u.dir, "typo*")); err != nil || len(files) > 0 {
		t.Errorf("a mistyped path created %v (%v)", files, err)
	}
	if log := u.does(t, "audit", "list"); strings.Contains(log, "Bench") {
		t.Errorf("a refused bench created merchants:\n%s", log)
	}
}

// createdJSON is the shape that scripts depend on (design: Bootstrap).
var createdJSON = regexp.MustCompile(`^\{"merchant":\{"id":"mer_\w+","name":"Acme"\},` +
	`"shop":\{"id":"shp_\w+","name":"Acme","slug":"acme[\w-]*"\},` +
	`"keys":\{"sandbox":\{"publishable":"pk_test_[\w-]+","secret":"sk_test_[\w-]+"\},` +
	`"production":\{"publishable":"pk_live_[\w-]+","secret":"sk_live_[\w-]+"\}\}\}\n$`)

func TestMerchantsAreMadeWhileTheServerRuns(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		s := u.serve(t, "--database", database)
		out, log, code := u.run(t, "merchant", "create", "--database", database, "--name", "Acme", "--email", "a@example.com", "--tier", "premium", "--json")
		if code != 0 || !createdJSON.MatchString(out) {
			t.Errorf("merchant create --json: exit %d, want %s:\n%s%s", code, createdJSON, out, log)
		}
		var k keys
		if err := json.Unmarshal([]byte(out), &k); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{k.Keys.Sandbox.Secret, k.Keys.Sandbox.Publishable, k.Keys.Production.Secret, k.Keys.Production.Publishable} {
			if status, reply := s.call("GET", "/ping", key, "", nil); status != http.StatusOK {
				t.Errorf("ping with %s…: %d %v", key[:8], status, reply)
			}
		}
		if status, me := s.call("GET", "/me", k.Keys.Sandbox.Secret, "", nil); status != http.StatusOK || text(me, "id") != k.Merchant.ID || text(me, "tier") != "premium" {
			t.Errorf("/me: %d %v", status, me)
		}

		out, log, code = u.run(t, "key", "create", "--database", database, "--merchant", k.Merchant.ID, "--shop", k.Shop.ID)
		key := strings.TrimSpace(out)
		if status, reply := s.call("GET", "/me", key, "", nil); code != 0 || status != http.StatusOK {
			t.Fatalf("key create: exit %d, /me %d %v\n%s%s", code, status, reply, out, log)
		}
		if out, log, code := u.run(t, "key", "revoke", "--database", database, key); code == 0 || !strings.Contains(log, "every user of this machine") || strings.Contains(out+log, key) {
			t.Errorf("a key in the arguments: exit %d\n%s%s", code, out, log)
		}
		if out, log, code := u.pipe(t, key+"\n", "key", "revoke", "--database", database, "-"); code != 0 {
			t.Errorf("key revoke: exit %d\n%s%s", code, out, log)
		}
		shown := "sk_test_..." + key[len(key)-4:]
		if out, log, code := u.run(t, "key", "revoke", "--database", database, shown); code != 0 || !strings.Contains(out, "sk_test_…"+key[len(key)-4:]+", was revoked at ") {
			t.Errorf("key revoke again, by the masked key: exit %d\n%s%s", code, out, log)
		}
		if out, log, code := u.run(t, "key", "rotate", "--grace", "0s", "--database", database, "sk_test_…"+k.Keys.Sandbox.Secret[len(k.Keys.Sandbox.Secret)-4:]); code != 0 {
			t.Errorf("key rotate by the masked key: exit %d\n%s%s", code, out, log)
		}
		await(t, "the rotated key to be refused", func() bool {
			status, _ := s.call("GET", "/me", k.Keys.Sandbox.Secret, "", nil)
			return status == http.StatusUnauthorized
		})
		await(t, "the revoked key to be refused", func() bool {
			status, _ := s.call("GET", "/me", key, "", nil)
			return status == http.StatusUnauthorized
		})
	})
}

func TestFlagsMayBeGivenByEnvironment(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listen := free.Addr().String()
	free.Close()
	u := newUser(t).with("CASCADA_LISTEN="+listen, "CASCADA_DATABASE=sqlite:other.db",
		"CASCADA_PUBLIC_URL=https://pay.example.com/", "CASCADA_MASTER_KEY="+otherKey)
	s := u.serve(t)
	if s.url != "https://pay.example.com" {
		t.Errorf("public URL %s", s.url)
	}
	if strings.Contains(s.output(), "sk_test_") {
		t.Errorf("a public service created a demo merchant:\n%s", s.output())
	}
	s.url = "http://" + listen // its real address
	k := u.merchant(t, "sqlite:other.db").Keys.Sandbox.Secret
	status, reply := s.call("POST", "/payments", k, `{"amount":10,"paymentMethodId":"sbx_card"}`, nil)
	if status != http.StatusCreated || !strings.HasPrefix(text(reply, "paymentFormUrl"), "https://pay.example.com/") {
		t.Errorf("create: %d, want the public URL in %v", status, reply)
	}
	if out, log, code := u.run(t, "check"); code != 0 { // it reads the same variables
		t.Errorf("check: exit %d\n%s%s", code, out, log)
	}
	if files, err := filepath.Glob(filepath.Join(u.dir, "*.key")); err != nil || len(files) > 0 {
		t.Errorf("%v were created, although a master key was configured (%v)", files, err)
	}
	// A flag wins over a variable.
	u.serve(t, "--listen", "127.0.0.1:0", "--database", "sqlite:third.db", "--public-url", "").stop()
	if _, err := os.Stat(filepath.Join(u.dir, "third.db")); err != nil {
		t.Error(err)
	}
}

func TestMasterKeyFileIsOnlyForItsOwner(t *testing.T) {
	t.Parallel()
	for database, file := range map[string]string{"sqlite:a.db": "a.db.key", dbtest.Postgres(t): "cascada.key"} {
		u := newUser(t)
		s := u.serve(t, "--database", database)
		path := filepath.Join(u.dir, file)
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want mode 0600", file, info, err)
		}
		if !strings.Contains(s.output(), "level=WARN") || !strings.Contains(s.output(), file) {
			t.Errorf("want a warning that names %s:\n%s", file, s.output())
		}
		s.stop()
		// A wrong key is refused before anything is written under it.
		if err := os.WriteFile(path, []byte(otherKey), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"serve"}, {"check"}, {"merchant", "create", "--name", "A", "--email", "a@example.com"}} {
			out, log, code := u.run(t, append(args, "--database", database)...)
			if code == 0 || !strings.Contains(log, "master key does not fit") {
				t.Errorf("%s under another master key: exit %d\n%s%s", args[0], code, out, log)
			}
		}
	}
}

// One command prints the story of any object, by its id.
func TestStoryFollowsTheKindOfID(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t).with("CASCADA_DATABASE=" + database)
		s := u.serve(t)
		owner := u.merchant(t, database)
		key, merchant := owner.Keys.Sandbox.Secret, owner.Merchant.ID
		post := func(want int, path, body string) map[string]any {
			t.Helper()
			status, reply := s.call("POST", path, key, body, nil)
			if status != want {
				t.Fatalf("POST %s: %d %v", path, status, reply)
			}
			return reply
		}
		payment := text(post(http.StatusCreated, "/payments", `{"amount":100,"paymentMethodId":"sbx_card"}`), "transactionId")
		post(http.StatusOK, "/sandbox/clock", `{"advance":"720h"}`)
		const account = "032180000118359719"
		post(http.StatusCreated, "/wallets", `{"type":"bank_account","currency":"MXN","destination":"`+account+`","label":"Ana Souza"}`)
		await(t, "the payment to be available", func() bool {
			_, balance := s.call("GET", "/me/balance", key, "", nil)
			available, _ := balance["balance"].(map[string]any)["available"].(float64)
			return available >= 50
		})
		if list := u.does(t, "settlement", "list", "--status", "closed", "--limit", "1"); !strings.HasPrefix(list, "SETTLEMENT ") || strings.Count(list, "\nSTL-") != 1 {
			t.Errorf("settlement list:\n%s", list)
		}
		withdrawal := text(post(http.StatusCreated, "/withdrawals", `{"amount":50}`), "id")
		post(http.StatusOK, "/sandbox/clock", `{"advance":"1h"}`)
		await(t, "the withdrawal to arrive", func() bool {
			_, reply := s.call("GET", "/withdrawals/"+withdrawal, key, "", nil)
			return text(reply, "status") == "completed"
		})
		told := u.does(t, "story", withdrawal)
		for _, want := range []string{withdrawal + " completed", "50.00 USD", "032****9719", "last sent:\n  20", "withdrawal tr_", "in_transit           50.00 USD",
			"withdrawal_paid tr_", "withdrawal.completed evt_", "deliveries: none"} {
			if !strings.Contains(told, want) {
				t.Errorf("the story does not contain %q:\n%s", want, told)
			}
		}
		if strings.Contains(told, account) || strings.Contains(told, "Ana") {
			t.Errorf("the story contains a bank account or a person:\n%s", told)
		}
		refund := text(post(http.StatusOK, "/payments/"+payment+"/refund", `{"amount":5}`), "refundId")
		if told := u.does(t, "story", refund); !strings.HasPrefix(told, refund+" is in the story of its payment, "+payment+"\n\n"+payment+" ") || !strings.Contains(told, "refund by the merchant "+refund) {
			t.Errorf("the story of a refund:\n%s", told)
		}
		_, balance := s.call("GET", "/me/balance", key, "", nil)
		available := fmt.Sprintf("%.2f", balance["balance"].(map[string]any)["available"])
		told = u.does(t, "story", merchant, "--environment", "sandbox", "--since", "1h")
		for _, want := range []string{merchant + ", sandbox", "captures: 1\n", "receivable                -100.00", "withdrawal tr_", "refund_freeze tr_", " " + payment + " " + refund} {
			if !strings.Contains(told, want) {
				t.Errorf("the merchant's story does not contain %q:\n%s", want, told)
			}
		}
		first, last := regexp.MustCompile(`(?m)^at the start( +0\.00){7}$`), regexp.MustCompile(`(?m)^at the end +\S+ +`+regexp.QuoteMeta(available)+" ")
		if !first.MatchString(told) || !last.MatchString(told) {
			t.Errorf("the merchant's story does not go from nothing to the balance, %s available:\n%s", available, told)
		}
		if told := u.does(t, "story", merchant, "--environment", "sandbox", "--each", "--until", "1h"); !strings.HasSuffix(told, "nothing moved\n") {
			t.Errorf("the story until an hour ago:\n%s", told)
		}
		s.stop()
		u.check(t, database)
	})
}

// A key file without a database would become the key of the next database.
func TestRefusedStartLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	const closed = "postgres://ana:hush@127.0.0.1:1/x"
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no engine that is known":        {[]string{"serve", "--database", "mysql://ana:hush@127.0.0.1/x"}, "want sqlite:PATH or postgres://"},
		"no address at all":              {[]string{"serve", "--database", "dbname=x password=hush"}, "want sqlite:PATH or postgres://"},
		"no path":                        {[]string{"serve", "--database", "sqlite:"}, "want sqlite:PATH"},
		"a directory":                    {[]string{"serve", "--database", "sqlite:."}, "unable to open"},
		"no directory":                   {[]string{"serve", "--database", "sqlite:nowhere/a.db"}, "nowhere"},
		"an unknown fault":               {[]string{"serve", "--sandbox-fault", "sandbox-1=nonsense"}, "nonsense"},
		"a fault of nobody":              {[]string{"serve", "--sandbox-fault", "sandbox-9=error"}, "sandbox-9"},
		"a bad feed of rates":            {[]string{"serve", "--fx-url", "rates"}, "absolute https URL"},
		"rates that are never warned of": {[]string{"serve", "--fx-max-age", "1h"}, "the warning must come before"},
		"a bad redis":                    {[]string{"serve", "--rate-limit", "on", "--redis", "localhost"}, "redis://"},
		"a port that is taken":           {[]string{"serve", "--listen", taken.Addr().String()}, "address already in use"},
		"a metrics port that is taken":   {[]string{"serve", "--metrics", taken.Addr().String()}, "listen for metrics"},
		"an admin port that is taken":    {[]string{"serve", "--admin", taken.Addr().String()}, "listen for the admin API"},
		"migrate nothing known":          {[]string{"migrate", "--database", "mysql://x"}, "want sqlite:PATH or postgres://"},
		"migrate what is not there":      {[]string{"migrate", "--database", closed}, "connection refused"},
		"a merchant in nothing known":    {[]string{"merchant", "create", "--name", "A", "--email", "a@b.co", "--database", "mysql://x"}, "want sqlite:PATH or postgres://"},
		"a merchant whom nobody reaches": {[]string{"merchant", "create", "--name", "A", "--email", "nonsense"}, "email"},
		"a check of nothing known":       {[]string{"check", "--database", "mysql://x"}, "want sqlite:PATH or postgres://"},
		"a bench of nothing":             {[]string{"bench", "--database", "sqlite:typo.db"}, "there is no database at typo.db"},
		"a bench of nothing known":       {[]string{"bench", "--database", "mysql://x"}, "want sqlite:PATH or postgres://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			out, log, code := u.run(t, c.args...)
			if code == 0 || !strings.Contains(log, c.want) || strings.Contains(log, "hush") {
				t.Errorf("exit %d, want an error that says %q and no password:\n%s%s", code, c.want, out, log)
			}
			if left, err := os.ReadDir(u.dir); err != nil || len(left) > 0 {
				t.Errorf("it left files: %v (%v)", left, err)
			}
		})
	}
	t.Run("a database that is not there", func(t *testing.T) { // the start waits for it
		t.Parallel()
		u := newUser(t)
		s := u.start(t, "--database", closed)
		await(t, "the start to log what it waits for", func() bool { return strings.Contains(s.output(), "connection refused") || s.gone() })
		s.terminate()
		await(t, "the process to end", s.gone)
		if log := s.output(); !strings.Contains(log, "the start waits for it") || strings.Contains(log, "hush") {
			t.Errorf("want a process that waits, and no password:\n%s", log)
		}
		if left, err := os.ReadDir(u.dir); err != nil || len(left) > 0 {
			t.Errorf("it left files: %v (%v)", left, err)
		}
	})
}

// A new key would be taken for the missing one.
func TestLostKeyFileIsNotReplaced(t *testing.T) {
	t.Parallel()
	for database, file := range map[string]string{"sqlite:a.db": "a.db.key", dbtest.Postgres(t): "cascada.key"} {
		u := newUser(t)
		u.does(t, "migrate", "--database", database)
		lost, safe := filepath.Join(u.dir, file), filepath.Join(u.dir, "safe")
		if err := os.Rename(lost, safe); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"serve"}, {"migrate"}, {"check"}, {"merchant", "create", "--name", "A", "--email", "a@example.com"}} {
			out, log, code := u.run(t, append(args, "--database", database)...)
			if code == 0 || !strings.Contains(log, file) || !strings.Contains(log, "CASCADA_MASTER_KEY") {
				t.Errorf("%s without the key file: exit %d, want the file named:\n%s%s", args[0], code, out, log)
			}
		}
		if _, err := os.Stat(lost); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s: %v, want it still missing", file, err)
		}
		if err := os.Rename(safe, lost); err != nil {
			t.Fatal(err)
		}
		u.check(t, database)
	}
}

func TestCheckReportsABrokenBalance(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := newUser(t)
		s := u.serve(t, "--database", database)
		k := u.merchant(t, database)
		status, reply := s.call("POST", "/payments", k.Keys.Sandbox.Secret, `{"amount":10,"paymentMethodId":"sbx_card"}`, nil)
		if status != http.StatusCreated {
			t.Fatalf("create: %d %v", status, reply)
		}
		u.check(t, database)
		s.stop()
		u.check(t, database)
		if _, err := openDatabase(t, database).Exec("UPDATE balances SET available = available + 1"); err != nil {
			t.Fatal(err)
		}
		out, log, code := u.run(t, "check", "--database", database)
		if code != 1 || !strings.Contains(out, k.Merchant.ID+" available") || !strings.Contains(out, "balance 1, postings 0") || !strings.Contains(log, "1 broken") {
			t.Errorf("exit %d, want 1 and the balance named:\n%s%s", code, out, log)
		}
		// The story still has the right balance.
		story := u.story(t, database, text(reply, "transactionId"))
		for _, want := range []string{"completed", "attempts:", "1 at sandbox-1: approved", "capture tr_", "pending               8.25 USD", "payment.completed evt_"} {
			if !strings.Contains(story, want) {
				t.Errorf("the story does not contain %q:\n%s", want, story)
			}
		}
	})
}
