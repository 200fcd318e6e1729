package routing

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/decline"
)

// Rules are the operator's rules for the cascade. The zero Rules order by priority.
type Rules struct {
	Order    Order           `json:"order,omitempty"`    // for rails without an order of their own; "" is Priority
	Explored *int            `json:"explored,omitempty"` // nil is DefaultExplored
	Budget   pay.Budget      `json:"budget"`             // zeros mean DefaultBudget
	Retry    Retry           `json:"retry,omitzero"`
	Rails    map[string]Rule `json:"rails,omitempty"` // by catalog key
}

// Rule is the operator's rule for a rail. Unset fields come from the Rules.
type Rule struct {
	Order    Order    `json:"order,omitempty"`
	Accounts []string `json:"accounts,omitempty"` // only these, if one of them serves; none: all that serve
	Explored *int     `json:"explored,omitempty"`
}

// Retry is the rule for a shopper whose card was refused on a provider's page. Unset fields come from the defaults.
type Retry struct {
	Times   *int             `json:"times,omitempty"`  // nil is DefaultRetries; 0: never at another provider
	Within  time.Duration    `json:"within,omitempty"` // counted from the payment's creation; 0: as long as it waits for the shopper
	Reasons []decline.Reason `json:"reasons,omitempty"`
}

// DefaultRetries is how often a payment moves to another provider after a refusal on a page.
const DefaultRetries = 2

// maxRetries is the most retries that rules can allow.
const maxRetries = 5

// DefaultExplored is how many payments of a hundred try an account other than the best
// first, so that an improved account is noticed.
const DefaultExplored = 5

// DefaultBudget is a payment's default budget. A shopper waits for it.
var DefaultBudget = pay.Budget{Attempts: 4, Time: 30 * time.Second}

// The limits of a budget.
const (
	maxAttempts = 20
	leastTime   = time.Second
	longestTime = 5 * time.Minute
)

// For returns the complete rule of a rail.
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

// Bounds returns the complete budget.
func (r Rules) Bounds() pay.Budget {
	return pay.Budget{Attempts: cmp.Or(r.Budget.Attempts, DefaultBudget.Attempts), Time: cmp.Or(r.Budget.Time, DefaultBudget.Time)}
}

// Retries returns the complete limits of retries.
func (r Rules) Retries() pay.RetryLimits {
	limits := pay.RetryLimits{Times: DefaultRetries, Within: r.Retry.Within, Reasons: r.Retry.Reasons}
	if r.Retry.Times != nil {
		limits.Times = *r.Retry.Times
	}
	return limits
}

// Rates reports whether any rail is ordered by success rate.
func (r Rules) Rates() bool {
	return r.Order == SuccessRate || slices.ContainsFunc(slices.Collect(maps.Values(r.Rails)), func(of Rule) bool { return of.Order == SuccessRate })
}

// Choose returns the complete rule of a rail, and those of the serving accounts that it
// lists. If none of them serves, such as in the other environment or for a merchant with
// its own accounts, the list is ignored: a rule about some accounts must not take the rail
// from a merchant whom other accounts serve.
func (r Rules) Choose(rail string, serving accounts.Accounts) (rule Rule, chosen accounts.Accounts, passed []string) {
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

// Check says what is wrong with rules, without knowing the accounts.
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
	if n := r.Retry.Times; n != nil && (*n < 0 || *n > maxRetries) {
		bad("retry: %d times: want 0 to %d", *n, maxRetries)
	}
	if b := r.Retry.Within; b < 0 || b != 0 && b < time.Minute {
		bad("retry: within %s: want 1m or more", b)
	}
	for _, reason := range r.Retry.Reasons {
		if !reason.Known() {
			bad("retry: there is no reason %q: docs/DECLINES.md lists them", reason)
		}
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
			bad("%s: explored is for the order success_rate, but the rail is ordered by %s", rail, r.For(rail).Order)
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
