package providers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appaccounts "github.com/cascadapay/cascada/internal/app/accounts"
	approuting "github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/e2e/harness"
	"github.com/cascadapay/cascada/internal/message"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/routing"
	"github.com/cascadapay/cascada/internal/provider/providertest"
)

// banks opens the accounts bank-1 to bank-n, with the priorities 1 to n. Each has its own upstream.
func banks(t *testing.T, s *harness.Instance, n int, more ...func(*appaccounts.NewAccount)) (upstreams []*providertest.Upstream) {
	t.Helper()
	for i := range n {
		u := providertest.NewUpstream(t, "key-1")
		first := func(a *appaccounts.NewAccount) { a.Priority = i + 1 }
		s.OpenAccount(t, fmt.Sprintf("bank-%d", i+1), u, append([]func(*appaccounts.NewAccount){first}, more...)...)
		upstreams = append(upstreams, u)
	}
	return upstreams
}

func rules(t *testing.T, s *harness.Instance, r routing.Rules) {
	t.Helper()
	_, changed, err := s.App.Rules.Apply(ctx, s.App.Self(), r)
	harness.Must(t, err)
	if !changed {
		t.Errorf("applying the rules %+v changed nothing", r)
	}
}

// limitTries sets the largest number of attempts of a payment.
func limitTries(t *testing.T, s *harness.Instance, n int) {
	t.Helper()
	rules(t, s, routing.Rules{Budget: pay.Budget{Attempts: n}})
}

func TestRulesTakeEffectWhileTheServiceRuns(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		live := s.NewShop(t).Production()
		order := live.PixOrder(t)
		for _, u := range banks(t, s, 3) {
			u.Next("soft")
		}
		tried := func(want string) approuting.Explanation {
			t.Helper()
			got, e := triedAt(t, live, order)
			if got != want {
				t.Errorf("the payment was tried at %s, want %s", got, want)
			}
			return e
		}
		tried("bank-1 bank-2 bank-3")
		rules(t, s, routing.Rules{Rails: map[string]routing.Rule{"pix.BRA": {Accounts: []string{"bank-3", "bank-1"}}}})
		e := tried("bank-3 bank-1")
		if a := e.Payment.Attempts[0]; !strings.HasPrefix(a.Why, "as the rules list them: 1 of 2") || strings.Join(a.Passed, "") != "bank-2: the rules do not list it" {
			t.Errorf("the decision is explained by %q, with %q passed over", a.Why, a.Passed)
		}
		for _, v := range e.Accounts {
			if (v.Verdict == "is not in the routing rules' list for pix.BRA") != (v.Account == "bank-2") {
				t.Errorf("the explanation says of %s %q", v.Account, v.Verdict)
			}
		}
		// A list of production accounts alone does not limit the sandbox.
		sandbox := providertest.NewUpstream(t, "key-1")
		s.OpenAccount(t, "test", sandbox, func(n *appaccounts.NewAccount) { n.Live = false })
		o := live
		o.Credential = live.Sandbox.Secret
		if got, _ := triedAt(t, o, order); got != "test" {
			t.Errorf("a sandbox payment was tried at %s, want test", got)
		}
		// A listed account that is disabled leaves the other listed ones.
		_, err := s.App.Accounts.Enable(ctx, s.App.Self(), "bank-3", false)
		harness.Must(t, err)
		tried("bank-1")
		_, err = s.App.Accounts.Enable(ctx, s.App.Self(), "bank-3", true)
		harness.Must(t, err)
		v, changed, err := s.App.Rules.Reset(ctx, s.App.Self())
		harness.Must(t, err)
		if !changed || v.Applied || v.Version != 2 {
			t.Errorf("the reset returns %+v, changed %t, want version 2, not applied, changed", v, changed)
		}
		tried("bank-1 bank-2 bank-3")
		if _, changed, err := s.App.Rules.Reset(ctx, s.App.Self()); err != nil || changed {
			t.Errorf("a second reset: changed %t (%v), want no change", changed, err)
		}
		history, err := s.App.Rules.History(ctx, 10)
		harness.Must(t, err)
		if len(history) != 2 || history[0].Applied || !history[1].Applied || history[1].Rails["pix.BRA"].Accounts[0] != "bank-3" {
			t.Errorf("the history is %+v", history)
		}
		told := []audit.Act{}
		list, err := s.App.Audit(ctx, "", "", time.Time{}, 1000)
		harness.Must(t, err)
		for _, a := range list {
			if a.Object == "routing" {
				told = append(told, a.Act)
			}
		}
		if fmt.Sprint(told) != "[routing.applied routing.reset]" {
			t.Errorf("the audit log has %v, want routing.applied and routing.reset", told)
		}
	})
}

// The catalog shows the limits of the accounts that the rules list.
func TestListedAccountsBoundTheCatalog(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		live := s.NewShop(t).Production()
		u := providertest.NewUpstream(t, "key-1")
		small := []accounts.RailTerms{{Limits: []accounts.Limit{{Currency: "BRL", Min: 1_00, Max: 20_00}}}}
		s.OpenAccount(t, "large", u)
		s.OpenAccount(t, "small", u, func(n *appaccounts.NewAccount) { n.Terms = small })
		rules(t, s, routing.Rules{Rails: map[string]routing.Rule{"pix.BRA": {Accounts: []string{"small"}}}})
		if got := live.Get(t, "/payment-methods?country=BR&method=pix").Text(t, "methods.0.currencyLimits.0.max"); got != "20" {
			t.Errorf("the largest payment by pix is %s BRL, want 20: the limit of the listed account", got)
		}
		live.Post(t, "/payments", live.PixOrder(t)).Refused(t, "422 amount_out_of_limits invalid_request_error param=amount boundViolated=max")
		for want, rules := range map[string]routing.Rules{
			"there is no rail pix.XYZ":               {Rails: map[string]routing.Rule{"pix.XYZ": {}}},
			"pix.BRA lists gone: there is no such":   {Rails: map[string]routing.Rule{"pix.BRA": {Accounts: []string{"gone"}}}},
			"oxxo lists small: it takes payments by": {Rails: map[string]routing.Rule{"cash.oxxo.MEX": {Accounts: []string{"small"}}}},
		} {
			want = strings.Replace(want, "oxxo", "cash.oxxo.MEX", 1)
			if _, _, err := s.App.Rules.Apply(ctx, s.App.Self(), rules); err == nil || !strings.Contains(message.Sentence(err), want) {
				t.Errorf("applying %+v: %v, want an error that contains %q", rules, err, want)
			}
		}
	})
}

func TestBudgetOfAttemptsEndsThePayment(t *testing.T) {
	harness.Plainly(t, func(t *testing.T, s *harness.Instance) {
		live := s.NewShop(t).Production()
		banks := banks(t, s, 3)
		for _, u := range banks {
			u.Next("down")
		}
		rules(t, s, routing.Rules{Budget: pay.Budget{Attempts: 2}})
		live.Post(t, "/payments", live.PixOrder(t)).Refused(t, "422 cascade_exhausted routing_error reason=all_providers_failed")
		got, e := triedAt(t, live, live.PixOrder(t))
		if got != "bank-1 bank-2" || e.Payment.Attempts[1].Stop != "budget: at most 2 attempts" {
			t.Errorf("the payment was tried at %s and stopped by %q, want two attempts and the budget", got, e.Payment.Attempts[1].Stop)
		}
		story, err := s.App.Story(ctx, e.Payment.ID)
		harness.Must(t, err)
		if !strings.Contains(story, "no other was tried: budget: at most 2 attempts") {
			t.Errorf("the story does not say why no other account was tried:\n%s", story)
		}
	})
}
