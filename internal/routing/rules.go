package routing

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
)

// Rules are what the operator wants of the cascade. The zero Rules order by
// priority.
type Rules struct {
	Order    Order           `json:"order,omitempty"`    // where a rail has none of its own; "" is Priority
	Explored *int            `json:"explored,omitempty"` // nil is DefaultExplored
	Budget   pay.Budget      `json:"budget"`             // zeros are those of DefaultBudget
	Rails    map[string]Rule `json:"rails,omitempty"`    // by catalog key
}

// Rule is what the operator wants on a rail. What it does not say, the Rules say.
type Rule struct {
	Order    Order    `json:"order,omitempty"`
	Accounts []string `json:"accounts,omitempty"` // these alone, where one of them serves; none: all that serve
	Explored *int     `json:"explored,omitempty"`
}

// DefaultExplored is how many payments of a hundred try another account than the
// best first, so that one that does better again is found.
const DefaultExplored = 5

// DefaultBudget is what a payment may use up where nobody says otherwise. A shopper
// waits for it.
var DefaultBudget = pay.Budget{Attempts: 4, Time: 30 * time.Second}

// The bounds of what a budget can be.
const (
	maxAttempts = 20
	leastTime   = time.Second
	longestTime = 5 * time.Minute
)

// For returns the rule of a rail, complete.
func (r Rules) For(rail string) Rule {
	rule := r.Rails[rail]
	if rule.Order == "" && len(rule.Accounts) > 0 {
		rule.Order = Listed
	}
	rule.Order = cmp.Or(rule.Order, r.Order, Priority)
	for _, explored := range []*int{r.Explored, new(DefaultExplored)} {
		if rule.Explored == nil {
			rule.Explored = explored
		}
	}
	return rule
}

// Bounds returns the budget, complete.
func (r Rules) Bounds() pay.Budget {
	return pay.Budget{Attempts: cmp.Or(r.Budget.Attempts, DefaultBudget.Attempts), Time: cmp.Or(r.Budget.Time, DefaultBudget.Time)}
}

// Rates reports whether any rail is ordered by success rate.
func (r Rules) Rates() bool {
	return r.Order == SuccessRate || slices.ContainsFunc(slices.Collect(maps.Values(r.Rails)), func(of Rule) bool { return of.Order == SuccessRate })
}

// Choose returns the rule of a rail, complete, and the accounts that it lists of those
// that serve a payment. Where none of them does, such as in the other environment or
// for a merchant with accounts of his own, the list says nothing: a rule about some
// accounts must not take a rail from whom others serve.
func (r Rules) Choose(rail string, serving acquirer.Accounts) (rule Rule, chosen acquirer.Accounts, passed []string) {
	rule = r.For(rail)
	if len(rule.Accounts) == 0 {
		return rule, serving, nil
	}
	for _, a := range serving {
		if slices.Contains(rule.Accounts, a.ID) {
			chosen = append(chosen, a)
			continue
		}
		passed = append(passed, a.ID+": the rules do not list it")
	}
	if len(chosen) > 0 {
		return rule, chosen, passed
	}
	if rule.Order == Listed {
		rule.Order = cmp.Or(r.Order, Priority)
	}
	return rule, serving, nil
}

// Check says what is wrong with rules, as far as they tell by themselves.
func (r Rules) Check() error {
	var wrong []error
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if _, err := ParseOrder(string(r.Order)); err != nil {
		bad("order: %w", err)
	}
	if r.Order == Listed {
		bad("order: listed is for a rail that lists accounts")
	}
	checkExplored(r.Explored, "explored", bad)
	if b := r.Budget.Attempts; b < 0 || b > maxAttempts {
		bad("budget: %d attempts: want 1 to %d", b, maxAttempts)
	}
	if b := r.Budget.Time; b != 0 && (b < leastTime || b > longestTime) {
		bad("budget: a time of %s: want %s to %s", b, leastTime, longestTime)
	}
	for _, rail := range slices.Sorted(maps.Keys(r.Rails)) {
		of := r.Rails[rail]
		if _, err := ParseOrder(string(of.Order)); err != nil {
			bad("%s: order: %w", rail, err)
		}
		if of.Order == Listed && len(of.Accounts) == 0 {
			bad("%s: order listed wants a list of accounts", rail)
		}
		checkExplored(of.Explored, rail+": explored", bad)
		if of.Explored != nil && r.For(rail).Order != SuccessRate {
			bad("%s: explored is for the order success_rate, and it is ordered by %s", rail, r.For(rail).Order)
		}
		for i, id := range of.Accounts {
			if slices.Contains(of.Accounts[:i], id) {
				bad("%s lists %s twice", rail, id)
			}
		}
	}
	return errors.Join(wrong...)
}

func checkExplored(n *int, where string, bad func(string, ...any)) {
	if n != nil && (*n < 0 || *n > 50) {
		bad("%s: %d of 100 payments: want 0 to 50", where, *n)
	}
}
