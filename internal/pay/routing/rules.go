package routing

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/decline"
)

// Rules are the operator's rules for the cascade. The zero Rules order by priority.
type Rules struct {
	Order    Order           `json:"order,omitempty"`    // for rails without an order of their own; "" is Priority
	Explored *int            `json:"explored,omitempty"` // nil is DefaultExplored
	Budget   pay.Budget      `json:"budget"`             // zeros mean DefaultBudget
	Retry    Retry           `json:"retry,omitzero"`
	Rails    map[string]Rule `json:"rails,omitempty"` // by catalog key
	Zone     Zone            `json:"zone,omitzero"`   // of hours and weekdays; zero: UTC
	// Conditional rules come before those of rails. The first that meets a payment decides (Choose).
	Conditional []Conditional `json:"rules,omitempty"`
}

// Rule is the operator's rule for a rail, or for payments that meet conditions. Unset fields come from the Rules.
type Rule struct {
	Order    Order    `json:"order,omitempty"`
	Accounts []string `json:"accounts,omitempty"` // only these and those of Weights, if one of them serves; none: all that serve
	Explored *int     `json:"explored,omitempty"`
	// Weights are the shares of accounts. They come before the others, in an order that is drawn by the payment's id (draw).
	Weights map[string]int    `json:"weights,omitempty"`
	drawn   map[string]uint64 // of one payment: the draws of Weights
}

// Conditional is a rule for payments that meet conditions.
type Conditional struct {
	Name string     `json:"name"`
	When Conditions `json:"when,omitzero"`
	Rule
}

// Retry is the rule for a shopper whose card was refused on a provider's page. Unset fields come from the defaults.
type Retry struct {
	Times   *int             `json:"times,omitempty"`  // nil is DefaultRetries; 0: never at another provider
	Within  time.Duration    `json:"within,omitempty"` // counted from the payment's creation; 0: as long as it waits for the shopper
	Reasons []decline.Reason `json:"reasons,omitempty"`
}

// DefaultRetries is how often a payment moves to another provider after a refusal on a page.
const DefaultRetries = 2

// DefaultExplored is how many payments of a hundred try an account other than the best
// first, so that an improved account is noticed.
const DefaultExplored = 5

// DefaultBudget is a payment's default budget. A shopper waits for it.
var DefaultBudget = pay.Budget{Attempts: 4, Time: 30 * time.Second}

// For returns the complete rule of a rail.
func (r Rules) For(rail string) Rule { return r.complete(r.Rails[rail]) }

// complete sets what a rule leaves unset.
func (r Rules) complete(rule Rule) Rule {
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

// Rates reports whether any payments are ordered by success rate.
func (r Rules) Rates() bool {
	return r.Order == SuccessRate || slices.ContainsFunc(slices.Collect(maps.Values(r.Rails)), func(of Rule) bool { return of.Order == SuccessRate }) ||
		slices.ContainsFunc(r.Conditional, func(of Conditional) bool { return of.Order == SuccessRate })
}
