package main_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// fails runs a command that must be refused with this reason.
func (u user) fails(t *testing.T, want string, args ...string) {
	t.Helper()
	out, log, code := u.run(t, args...)
	if code == 0 || !strings.Contains(log, want) {
		t.Errorf("%v: exit %d, want an error with %q:\n%s%s", args, code, want, out, log)
	}
}

// An operator changes the routing rules without a restart, after he has seen what the change
// would have done.
func TestOperatorChangesRoutingWhileTheServerRuns(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		one, two := providertest.NewUpstream(t, "key-1"), providertest.NewUpstream(t, "key-1")
		one.Next("soft")
		two.Next("paid")
		u := plainly(t, database).with("PLAIN_KEY=key-1", "HUSH=bank-hush")
		live := u.merchant(t, database).Keys.Production.Secret
		u.does(t, "fx", "set", "BRL", "5.4")
		for i, upstream := range []*providertest.Upstream{one, two} {
			u.does(t, "provider", "add", "plain", "--id", []string{"bank-1", "bank-2"}[i], "--base-url", upstream.URL, "--priority", []string{"1", "2"}[i],
				"--price", "1%", "--credential", "apiKey=env:PLAIN_KEY", "--credential", "webhookSecret=env:HUSH")
		}
		s := u.serve(t) // it knows both accounts from the start
		pays := func() (id string) {
			_, id, _ = strings.Cut(s.pixes(live), " 201 ")
			return id
		}
		if told := u.does(t, "explain", pays()); !strings.Contains(told, "1  bank-1: declined (try_elsewhere)") || !strings.Contains(told, "2  bank-2: approved") {
			t.Errorf("explain:\n%s", told)
		}

		if out := u.does(t, "route", "show", "--routing", "least_cost"); out != "# no rules were ever applied: servers use their --routing\norder: least_cost\n" {
			t.Errorf("route show:\n%s", out)
		}
		rules := u.write(t, "rules.yaml", "budget: {attempts: 1}\nrails:\n  pix.BRA: {accounts: [bank-2, bank-1]}\n")
		out := u.does(t, "route", "replay", "--since", "24h", "--rules", rules)
		for _, want := range []string{"in force: no rules were ever applied", "begin at another account", "what really happened there", "for example", "really: bank-1 did not accept it, bank-2 accepted it\n  replayed: bank-2 accepted it\n"} {
			if !strings.Contains(out, want) {
				t.Errorf("route replay does not print %q:\n%s", want, out)
			}
		}
		var told struct {
			All struct {
				Payments, BeginElsewhere int
				Known                    struct{ Payments, Real int }
				Cost                     struct{ Real, Replayed string }
			}
			Accounts []struct{ Account string }
		}
		if err := json.Unmarshal([]byte(u.does(t, "route", "replay", "--since", "7d", "--rules", rules, "--json")), &told); err != nil {
			t.Fatal(err)
		}
		if a := told.All; a.Payments == 0 || a.Known.Payments != a.Payments || a.Cost.Real == "0.00" || a.Cost.Real != a.Cost.Replayed || len(told.Accounts) != 2 {
			t.Errorf("route replay --json: %+v", told)
		}
		whatIf := u.write(t, "what-if.yaml", "accounts:\n  bank-2: {price: 3%, enabled: true}\n  bank-1: {enabled: false}\n")
		if out := u.does(t, "route", "replay", "--since", "2020-01-01", "--rules", whatIf); !strings.Contains(out, "assumed: bank-2, enabled, priority 2, every other rail 3%") ||
			!strings.Contains(out, "3.00%") {
			t.Errorf("route replay with a more expensive account:\n%s", out)
		}

		if out := u.does(t, "route", "apply", rules); !strings.HasPrefix(out, "version 1, applied at ") {
			t.Errorf("route apply: %s", out)
		}
		if out := u.does(t, "route", "apply", rules); !strings.HasPrefix(out, "nothing was changed: version 1") {
			t.Errorf("route apply again: %s", out)
		}
		var last string
		await(t, "the server to use the rules", func() bool {
			last = pays()
			told := u.does(t, "explain", last)
			return strings.Contains(told, "1  bank-2: approved\n") && strings.Contains(told, "\n   as the rules list them: 1 of 2; ")
		})
		two.Next("soft")
		if status := s.pixes(live); !strings.Contains(status, " 422 ") {
			t.Errorf("with one try a soft decline ends in %s", status)
		}
		shown := u.does(t, "route", "show")
		if !strings.Contains(shown, "attempts: 1") || !strings.Contains(shown, "accounts: [bank-2, bank-1]") {
			t.Errorf("route show:\n%s", shown)
		}
		if out, log, code := u.pipe(t, shown, "route", "apply", "-"); code != 0 || !strings.HasPrefix(out, "nothing was changed") {
			t.Errorf("the printed rules are applied as a change: exit %d %s%s", code, out, log)
		}
		if out := u.does(t, "route", "reset"); !strings.HasPrefix(out, "rules were removed at ") || !strings.Contains(out, "(version 2)") {
			t.Errorf("route reset: %s", out)
		}
		if out := u.does(t, "route", "show", "--history", "9", "--json"); strings.Count(out, "\n") != 2 || !strings.Contains(out, `"version":1,"applied":true`) {
			t.Errorf("route show --history:\n%s", out)
		}
		if out := u.does(t, "audit", "list"); !strings.Contains(out, "routing.applied") || !strings.Contains(out, "routing.reset") {
			t.Errorf("audit list:\n%s", out)
		}

		// A rule with conditions decides, and the explanation says which one and why; the replay counts what it would have decided.
		conditions := u.write(t, "conditions.yaml", "rules:\n  - name: large\n    when: {amount: \"USD:1000-\"}\n    accounts: [bank-1]\n  - name: brazil\n    when: {country: BR}\n    weights: {bank-2: 1}\n")
		if out := u.does(t, "route", "replay", "--since", "24h", "--rules", conditions); !strings.Contains(out, "\nRULE") || !strings.Contains(out, "\nlarge ") || !strings.Contains(out, "\n(none of them) ") {
			t.Errorf("route replay by conditions:\n%s", out)
		}
		u.does(t, "route", "apply", conditions)
		two.Next("paid")
		await(t, "the server to use the conditions", func() bool {
			last = u.does(t, "explain", pays())
			return strings.Contains(last, "\n   rule brazil (country BRA): by weight: 1 of 1, drawn by the payment's id; ")
		})
		for _, want := range []string{"   rule large does not decide: amount: it is ", "   rule brazil decides about such a payment: country BRA\n", "   bank-1 is not in the list of rule brazil\n"} {
			if !strings.Contains(last, want) {
				t.Errorf("explain does not print %q:\n%s", want, last)
			}
		}
		if shown := u.does(t, "route", "show"); !strings.Contains(shown, "amount: ['USD:1000-']") || !strings.Contains(shown, "weights: {bank-2: 1}") {
			t.Errorf("route show:\n%s", shown)
		}
		s.stop()
		u.check(t, database)
	})
}

func TestRoutingMistakesAreReportedBeforeAnyChange(t *testing.T) {
	t.Parallel()
	u := plainly(t, "sqlite:cascada.db")
	u.does(t, "merchant", "create", "--name", "Acme", "--email", "a@example.com")
	good := u.write(t, "good.yaml", "order: least_cost\n")
	file := func(text string) string { return u.write(t, "rules.yaml", text) }
	for text, want := range map[string]string{
		"order: least_cost\nrails:\n  pix.BRA: {acounts: [a]}\n": `rules.yaml: line 3: there is no field "acounts" here`,
		"rails: {pix.XXX: {order: priority}}\n":                  "there is no rail pix.XXX: cascada provider adapters lists them",
		"rails: {pix.BRA: {accounts: [nobody]}}\n":               "pix.BRA lists nobody: there is no such account",
		"order: least_cost\naccounts: {a: {priority: 3}}\n":      "change accounts with provider set or provider apply",
		"rules:\n  - name: x\n    when: {hours: 25-3}\n":         `rules.yaml: line 3: rule x: hours: "25-3" is no part of a day`,
		"rules:\n  - name: x\n    accounts:\n      - nobody\n":   "rules.yaml: line 4: rule x lists nobody: there is no such account",
		"rules:\n  - name: x\n    when: {merchant: mer_x}\n":     "rules.yaml: line 3: rule x: there is no merchant mer_x",
		"": "it is empty; cascada route reset removes the rules",
	} {
		u.fails(t, want, "route", "apply", file(text))
	}
	u.fails(t, "no such file", "route", "apply", "nowhere.yaml")
	for want, args := range map[string][]string{
		"--since": {}, `--since: "soon" is not a time: want 24h, 7d`: {"--since", "soon"}, `"-3h" is not a time`: {"--since=-3h"},
		"--since must be before --until": {"--since", "1h", "--until", "2h"}, `--until: "then" is not a time`: {"--since", "1h", "--until", "then"},
		"there is no rail pix": {"--since", "1h", "--rail", "pix"}, "--environment": {"--since", "1h", "--environment", "test"},
	} {
		u.fails(t, want, append([]string{"route", "replay", "--rules", good}, args...)...)
	}
	u.fails(t, "accounts: there is no account a", "route", "replay", "--since", "1h", "--rules", file("accounts: {a: {priority: 3}}\n"))
	u.fails(t, `accounts: a: "dear" is not a price`, "route", "replay", "--since", "1h", "--rules", file("accounts: {a: {price: dear}}\n"))
	if out := u.does(t, "route", "replay", "--since", "1h", "--rules", good); !strings.Contains(out, "0 were replayed; 0 begin at another account") {
		t.Errorf("without payments it prints:\n%s", out)
	}
	if out := u.does(t, "route", "show"); !strings.HasPrefix(out, "# no rules were ever applied") {
		t.Errorf("mistakes changed the rules:\n%s", out)
	}
	if out := u.does(t, "route", "reset"); !strings.HasPrefix(out, "nothing was changed") {
		t.Errorf("route reset of nothing: %s", out)
	}
}
