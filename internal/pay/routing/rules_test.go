package routing

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
)

func serving(ids ...string) (list accounts.Accounts) {
	for i, id := range ids {
		list = append(list, accounts.Account{ID: id, Priority: len(ids) - i, Rails: []string{pix.Key}, Status: accounts.Enabled, Live: true})
	}
	return list
}

func TestRuleOfARailIsTheDefaultAndItsOwn(t *testing.T) {
	rules := Rules{Order: LeastCost, Explored: new(9), Rails: map[string]Rule{
		"pix.BRA":  {Accounts: []string{"b", "a"}},
		"spei.MEX": {Order: SuccessRate, Explored: new(0)},
		"card.BRA": {Order: SuccessRate, Accounts: []string{"a"}},
	}}
	for rail, want := range map[string]struct {
		order    Order
		explored int
	}{"pix.BRA": {Listed, 9}, "spei.MEX": {SuccessRate, 0}, "card.BRA": {SuccessRate, 9}, "oxxo.MEX": {LeastCost, 9}} {
		if got := rules.For(rail); got.Order != want.order || *got.Explored != want.explored {
			t.Errorf("%s: %s, %d explored; want %s and %d", rail, got.Order, *got.Explored, want.order, want.explored)
		}
	}
	if got := (Rules{}).For("pix.BRA"); got.Order != Priority || *got.Explored != DefaultExplored {
		t.Errorf("no rules are %s, %d explored", got.Order, *got.Explored)
	}
	if got := (Rules{Budget: pay.Budget{Attempts: 2}}).Bounds(); got != (pay.Budget{Attempts: 2, Time: DefaultBudget.Time}) {
		t.Errorf("a budget of two attempts is %+v", got)
	}
	if !rules.Rates() || (Rules{}).Rates() {
		t.Error("what is ordered by success is not told")
	}
}

// A list chooses and orders; where it names nobody who serves, it says nothing.
func TestListedAccountsAloneAreTried(t *testing.T) {
	rules := Rules{Rails: map[string]Rule{pix.Key: {Accounts: []string{"c", "a", "x"}}}}
	plan := func(rules Rules, ids ...string) pay.Cascade {
		return NewHealth().Plan(rules, serving(ids...), pay.Payment{ID: "TXN-1", Price: pay.Price{Amount: ten, Local: ten}}, pix, noon)
	}
	c := plan(rules, "a", "b", "c")
	if names(c.Routes) != "c a" || !strings.HasPrefix(c.Routes[1].Why, "as the rules list them: 2 of 3; ") {
		t.Errorf("tried %s, because %+v", names(c.Routes), c.Routes)
	}
	if passed := c.Routes[0].Passed; len(passed) != 1 || passed[0] != "b: the rules do not list it" {
		t.Errorf("passed over %q", passed)
	}
	if c.Budget != DefaultBudget {
		t.Errorf("the budget is %+v", c.Budget)
	}
	if c := plan(rules, "d", "e"); names(c.Routes) != "e d" || !strings.HasPrefix(c.Routes[0].Why, "by priority") {
		t.Errorf("where no listed account serves, %s are tried: %+v", names(c.Routes), c.Routes)
	}
	rules.Rails[pix.Key] = Rule{Order: Priority, Accounts: []string{"a", "c"}}
	if c := plan(rules, "a", "b", "c"); names(c.Routes) != "c a" {
		t.Errorf("listed and ordered by priority: %s", names(c.Routes))
	}
}

func TestExploredIsAsTheRuleSays(t *testing.T) {
	all := []Candidate{candidate("best", 1, money.Fee{}).after(50, 50), candidate("worse", 1, money.Fee{}).after(0, 50)}
	count := func(explored int) (n int) {
		for i := range 2000 {
			routes, _ := Decide(Rule{Order: SuccessRate, Explored: &explored}, append([]Candidate{}, all...), "TXN-"+strings.Repeat("x", i%50)+time.Duration(i).String(), pix, ten, noon)
			if routes[0].Provider != "best" {
				n++
			}
		}
		return n
	}
	if none, many := count(0), count(50); none != 0 || many < 850 || many > 1150 {
		t.Errorf("of 2000 payments %d were explored where none may be, %d where half are", none, many)
	}
}

func TestRulesThatCannotBeAreRefused(t *testing.T) {
	rail := func(r Rule) Rules { return Rules{Rails: map[string]Rule{"pix.BRA": r}} }
	for want, rules := range map[string]Rules{
		`there is no order "random"`:                      {Order: "random"},
		"order: listed is for a rail":                     {Order: Listed},
		"explored: 51 of 100 payments: want 0 to 50":      {Explored: new(51)},
		"budget: 21 attempts: want 1 to 20":               {Budget: pay.Budget{Attempts: 21}},
		"budget: a time of 1ms: want 1s to 5m0s":          {Budget: pay.Budget{Time: time.Millisecond}},
		`pix.BRA: order: there is no order "x"`:           rail(Rule{Order: "x"}),
		"pix.BRA: order listed wants a list":              rail(Rule{Order: Listed}),
		"pix.BRA lists a twice":                           rail(Rule{Accounts: []string{"a", "b", "a"}}),
		"pix.BRA: explored is for the order success_rate": rail(Rule{Explored: new(3)}),
	} {
		if err := rules.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", rules, err, want)
		}
	}
	if err := (Rules{Order: SuccessRate, Explored: new(10), Budget: DefaultBudget, Rails: map[string]Rule{"pix.BRA": {Explored: new(0)}}}).Check(); err != nil {
		t.Error(err)
	}
}

// A payment explores once: if the explored account declines, the best one is next, also in a cascade that is
// planned anew.
func TestOnlyTheFirstTryExplores(t *testing.T) {
	rules := Rules{Order: SuccessRate, Explored: new(50)}
	explored := 0
	for i := range 200 {
		p := pay.Payment{ID: fmt.Sprint("TXN-", i), Price: pay.Price{Amount: ten, Local: ten}}
		first := NewHealth().Plan(rules, serving("a", "b", "c"), p, pix, noon).Routes[0]
		if !strings.HasPrefix(first.Why, "explored") {
			continue
		}
		explored++
		p.Attempts = pay.Attempts{{Order: 1, Provider: first.Provider}}
		second := NewHealth().Plan(rules, serving("a", "b", "c"), p, pix, noon).Routes[0]
		if strings.HasPrefix(second.Why, "explored") || second.Provider != "c" { // of the highest priority
			t.Fatalf("after %s the payment is tried at %s: %s", first.Provider, second.Provider, second.Why)
		}
	}
	if explored == 0 {
		t.Error("no payment explored")
	}
}
