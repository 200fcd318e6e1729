package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// plainly returns a user whose program has the plain adapter.
func plainly(t *testing.T, database string) user {
	t.Helper()
	return newUser(t).asPlain(t).with("CASCADA_DATABASE=" + database)
}

// does runs a command that must succeed, and fails the test if it printed a secret.
func (u user) does(t *testing.T, args ...string) string {
	t.Helper()
	out, log, code := u.run(t, args...)
	if code != 0 {
		t.Fatalf("%v: exit %d\n%s%s", args, code, out, log)
	}
	if strings.Contains(out+log, "hush") || strings.Contains(out+log, "key-") {
		t.Errorf("%v printed a secret:\n%s%s", args, out, log)
	}
	return out
}

func (u user) write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(u.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// pixes creates a production payment by pix, and describes the answer.
func (s *server) pixes(key string) string {
	_, list := s.call("GET", "/payment-methods?country=BR&method=pix", key, "", nil)
	methods, _ := list["methods"].([]any)
	if len(methods) == 0 {
		return "no methods"
	}
	pix, _ := methods[0].(map[string]any)
	status, reply := s.call("POST", "/payments", key, `{"amount":10,"documentId":"52998224725","paymentMethodId":"`+text(pix, "paymentMethodId")+`"}`, nil)
	return fmt.Sprintf("%v %d %s", pix["routable"], status, text(reply, "transactionId"))
}

// An operator connects a provider without a restart, and removes it again.
func TestOperatorConnectsAProviderWhileTheServerRuns(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		upstream := providertest.NewUpstream(t, "key-1", "key-2")
		u := plainly(t, database)
		s := u.serve(t)
		u = u.with("CASCADA_PUBLIC_URL="+s.url+"/", "PLAIN_KEY=key-1")
		k := u.merchant(t, database)
		live := k.Keys.Production.Secret
		u.does(t, "fx", "set", "BRL", "5.4")
		await(t, "the rate", func() bool { return s.pixes(live) == "false 422 " })

		if out := u.does(t, "provider", "adapters"); !strings.Contains(out, "plain\n  rails        pix.BRA spei.MEX\n") ||
			!strings.Contains(out, "secret                Settings, API keys") || !strings.Contains(out, "not secret, optional") {
			t.Errorf("provider adapters:\n%s", out)
		}
		out, log, code := u.pipe(t, "bank-hush\n", "provider", "add", "plain", "--id", "bank", "--merchant", k.Merchant.ID, "--base-url", upstream.URL,
			"--rail", "pix.BRA", "--price", "0.99%+0.10", "--limit", "pix.BRA=BRL:5-900", "--priority", "3",
			"--credential", "apiKey=env:PLAIN_KEY", "--credential", "webhookSecret=-", "--credential", "merchantNumber=77")
		for _, want := range []string{"bank", "plain", "production", k.Merchant.ID, "enabled", "0.99%+0.1", "BRL:5-900", "apiKey merchantNumber webhookSecret",
			s.url + "/api/v1/providers/bank/notifications"} {
			if code != 0 || !strings.Contains(out, want) || strings.Contains(out, "hush") || strings.Contains(out, "key-1") {
				t.Fatalf("provider add: exit %d, want %q and no secret:\n%s%s", code, want, out, log)
			}
		}
		first := ""
		await(t, "pix to be routable", func() bool {
			took, id, _ := strings.Cut(s.pixes(live), " 201 ")
			first = id
			return took == "true" && id != ""
		})
		if out := u.does(t, "explain", first); !regexp.MustCompile(`1  bank: pending\n   called 20\S+Z, said pending after \d+[mµ]?s\n   by priority: 3; it costs 0.20 USD\nnow\n   bank takes such a payment\n`).MatchString(out) {
			t.Errorf("explain:\n%s", out)
		}
		if out := u.does(t, "explain", first, "--json"); !strings.Contains(out, `"rail":"pix.BRA"`) || !strings.Contains(out, `"why":"by priority: 3; it costs 0.20 USD"`) ||
			!strings.Contains(out, `"durationMs":`) || strings.Contains(out, `"circuit"`) {
			t.Errorf("explain --json:\n%s", out)
		}
		if out := u.does(t, "provider", "check", "bank", "--json"); out != `{"account":"bank","result":"works"}`+"\n" {
			t.Errorf("provider check --json: %s", out)
		}
		if out := u.does(t, "provider", "check", "bank"); out != "bank: the credentials work\n" {
			t.Errorf("provider check: %s", out)
		}
		address, signature, body := upstream.Notify(strings.TrimPrefix(first, "TXN-")+"-1", "paid", "bank-hush")
		if status, reply := s.notify(t, address, signature, string(body)); status != http.StatusOK {
			t.Errorf("the notification: %d %s", status, reply)
		}
		if _, p := s.call("GET", "/payments/"+first, live, "", nil); text(p, "status") != "completed" {
			t.Errorf("want the payment completed: %v", p)
		}

		upstream.Revoke("key-1")
		if out, _, code := u.run(t, "provider", "check"); code != 1 || !strings.Contains(out, "bank: the provider answers 401") {
			t.Errorf("provider check with a dead key: exit %d\n%s", code, out)
		}
		u.does(t, "provider", "rotate", "bank", "--credential", "apiKey=@"+u.write(t, "key", "key-2\n"))
		u.does(t, "provider", "check")
		await(t, "a charge with the new key", func() bool { return strings.HasPrefix(s.pixes(live), "true 201 ") })
		u.does(t, "provider", "set", "bank", "--price", "none", "--limit", "pix.BRA=none", "--rail", "all")
		var told struct {
			Rails, Credentials []string
			Terms              []any
			Status, MerchantID string
		}
		if err := json.Unmarshal([]byte(u.does(t, "provider", "show", "bank", "--json")), &told); err != nil || len(told.Rails) != 2 || len(told.Terms) != 0 || told.MerchantID != k.Merchant.ID {
			t.Errorf("provider show --json: %v %+v", err, told)
		}
		u.does(t, "provider", "disable", "bank")
		await(t, "pix not to be routable", func() bool { return s.pixes(live) == "false 422 " })
		if out := u.does(t, "provider", "list"); !strings.Contains(out, "disabled") || strings.Count(out, "\n") != 2 {
			t.Errorf("provider list:\n%s", out)
		}
		u.does(t, "provider", "enable", "bank")
		await(t, "pix to be routable again", func() bool { return strings.HasPrefix(s.pixes(live), "true 201 ") })
		if _, log, code := u.run(t, "provider", "remove", "bank"); code == 0 || !strings.Contains(log, "open payments") {
			t.Errorf("an account with open payments: exit %d\n%s", code, log)
		}
		u.does(t, "provider", "remove", "bank", "--force")
		await(t, "the account to be gone", func() bool { return s.pixes(live) == "false 422 " })
		if out := u.does(t, "provider", "list", "--json"); out != "" {
			t.Errorf("a removed account is listed:\n%s", out)
		}
		for _, act := range []string{"added", "rotated", "changed", "disabled", "enabled", "removed"} {
			if out := u.does(t, "audit", "list"); strings.Count(out, "provider."+act+" bank by operator") != 1 {
				t.Errorf("the audit log does not say that it was %s:\n%s", act, out)
			}
		}
		s.stop()
		u.check(t, database)
	})
}

// notify sends a notification as a provider does.
func (s *server) notify(t *testing.T, address, signature, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(providertest.PlainSignature, signature)
	reply, err := connections.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	told, _ := io.ReadAll(reply.Body) // it is only for people
	return reply.StatusCode, string(told)
}

func TestAccountsAreMadeAsAFileDeclaresThem(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		u := plainly(t, database).with("KEY=key-1")
		u.does(t, "migrate")
		declare := func(more string) string {
			return u.write(t, "accounts.json", `{"accounts":[
				{"id":"one","adapter":"plain","environment":"production","credentials":{"apiKey":"env:KEY","webhookSecret":"@`+u.write(t, "secret", "hush\n")+`"},
				 "price":"2.9%+0.30","terms":[{"rail":"pix.BRA","price":"0.99%","limits":["BRL:1-500"]}],"priority":7`+more+`},
				{"id":"two","adapter":"plain","environment":"sandbox","credentials":{"apiKey":"env:KEY","webhookSecret":"env:KEY"}}]}`)
		}
		for _, c := range []struct{ more, key, want string }{
			{"", "key-1", "one added\ntwo added\n"},
			{"", "key-1", "one unchanged\ntwo unchanged\n"},
			{`,"disabled":true,"rails":["pix.BRA"]`, "key-1", "one changed\ntwo unchanged\n"},
			{`,"disabled":true,"rails":["pix.BRA"]`, "key-2", "one changed\ntwo changed\n"},
			{`,"disabled":true,"rails":["pix.BRA"]`, "key-2", "one unchanged\ntwo unchanged\n"},
		} {
			if out := u.with("KEY="+c.key).does(t, "provider", "apply", declare(c.more)); out != c.want {
				t.Errorf("with %s and %s:\n%swant\n%s", c.more, c.key, out, c.want)
			}
		}
		out := u.does(t, "provider", "show", "one")
		for _, want := range []string{"disabled", "pix.BRA", "2.9%+0.3", "0.99% BRL:1-500", "all others", "rotated"} {
			if !strings.Contains(out, want) {
				t.Errorf("provider show one does not print %q:\n%s", want, out)
			}
		}
		for name, c := range map[string]struct{ file, want string }{
			"a secret in clear":   {`{"accounts":[{"id":"x","adapter":"plain","environment":"sandbox","credentials":{"apiKey":"key-1"}}]}`, "apiKey is secret"},
			"a misspelt setting":  {`{"accounts":[{"id":"x","prise":"1%"}]}`, `unknown field "prise"`},
			"no environment":      {`{"accounts":[{"id":"x","adapter":"plain"}]}`, `environment ""`},
			"another environment": {`{"accounts":[{"id":"one","adapter":"plain","environment":"sandbox"}]}`, "cannot change"},
			"no id":               {`{"accounts":[{"adapter":"plain","environment":"sandbox"}]}`, "needs an id"},
			"no JSON":             {`accounts:`, "want {"},
		} {
			if out, log, code := u.pipe(t, c.file, "provider", "apply", "-"); code == 0 || !strings.Contains(log, c.want) || strings.Contains(out+log, "key-1") {
				t.Errorf("%s: exit %d, want an error that says %q:\n%s%s", name, code, c.want, out, log)
			}
		}
	})
}

func TestMistakesAboutProvidersAreNamed(t *testing.T) {
	t.Parallel()
	u := plainly(t, "sqlite:cascada.db").with("KEY=key-1")
	u.does(t, "migrate")
	good := []string{"provider", "add", "plain", "--id", "bank", "--credential", "apiKey=env:KEY", "--credential", "webhookSecret=env:KEY"}
	u.does(t, good...)
	if out, log, code := u.pipe(t, `{"apiKey":"key-2","webhookSecret":"hush"}`, "provider", "rotate", "bank", "--credentials", "-"); code != 0 || strings.Contains(out+log, "key-2") {
		t.Errorf("credentials as JSON: exit %d\n%s%s", code, out, log)
	}
	if out, log, code := u.pipe(t, `{"apiKey":"key-2",5}`, "provider", "rotate", "bank", "--credentials", "-"); code == 0 || !strings.Contains(log, "want a JSON object") || strings.Contains(out+log, "key-2") {
		t.Errorf("credentials that are not JSON: exit %d\n%s%s", code, out, log)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a secret on the command line": {[]string{"provider", "add", "plain", "--credential", "apiKey=key-1"}, "apiKey is secret"},
		"a missing file":               {[]string{"provider", "add", "plain", "--credential", "apiKey=@nowhere"}, "nowhere"},
		"no such variable":             {[]string{"provider", "add", "plain", "--credential", "apiKey=env:NOWHERE"}, "no environment variable NOWHERE"},
		"two from one input":           {[]string{"provider", "add", "plain", "--credential", "apiKey=-", "--credential", "webhookSecret=-"}, "only one flag can read the standard input"},
		"no such provider":             {[]string{"provider", "add", "visa"}, `no adapter "visa": use one of plain`},
		"a missing credential":         {[]string{"provider", "add", "plain", "--credential", "apiKey=env:KEY"}, "webhookSecret: is required"},
		"an id twice":                  {good, "choose another id"},
		"an invalid price":             {[]string{"provider", "set", "bank", "--price", "cheap"}, `"cheap" is not a price`},
		"invalid limits":               {[]string{"provider", "set", "bank", "--limit", "5"}, `"5" is not a limit`},
		"a rail that it does not have": {[]string{"provider", "set", "bank", "--rail", "card.BRA"}, `"card.BRA"`},
		"plain http elsewhere":         {[]string{"provider", "set", "bank", "--base-url", "http://bank.example"}, "over https"},
		"nothing to rotate":            {[]string{"provider", "rotate", "bank"}, "no credential was given"},
		"an unknown account":           {[]string{"provider", "show", "nobody"}, "provider account nobody: not found"},
		"no database":                  {[]string{"provider", "list", "--database", "sqlite:typo.db"}, "there is no database at typo.db"},
	} {
		out, log, code := u.run(t, c.args...)
		if code == 0 || !strings.Contains(log, c.want) || strings.Contains(out+log, "key-1") {
			t.Errorf("%s: exit %d, want an error that says %q:\n%s%s", name, code, c.want, out, log)
		}
	}
}
