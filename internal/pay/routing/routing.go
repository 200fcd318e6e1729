// Package routing decides in which order provider accounts are tried, and says why: by the
// operator's priority, by cost, or by their recent success; and which accounts are passed
// over because they fail now.
//
// It is pure: values in, values out. The caller keeps the Rules and the Health, and passes
// the time. It does not select the accounts that serve a rail at all: accounts.Accounts
// does.
package routing

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
)

// Order is how accounts are ordered.
type Order string

// The orders.
const (
	Priority    Order = "priority"     // the operator's, then cost
	LeastCost   Order = "least_cost"   // the account's price for this amount
	SuccessRate Order = "success_rate" // how many payments of this kind succeeded (Score)
	Listed      Order = "listed"       // as the rule of the rail lists them
)

// ParseOrder reads an order; "" is Priority.
func ParseOrder(text string) (Order, error) {
	o := cmp.Or(Order(text), Priority)
	if !slices.Contains([]Order{Priority, LeastCost, SuccessRate, Listed}, o) {
		return "", fmt.Errorf("there is no order %q: want priority, least_cost, success_rate or, for a rail, listed", text)
	}
	return o, nil
}

// Candidate is an account that accepts a payment, with its recorded health.
type Candidate struct {
	accounts.Account
	Circuit Circuit
	Score   Score
}

// Decide returns the cascade of a payment on a rail, by a complete rule (Rules.For). An
// account with an open circuit is passed over, unless all are: then all are tried, because
// a payment without a try is certainly lost.
//
// Which payments explore follows from their ids, so that a decision can be repeated and
// explained. Only a first try explores: payment is "" for a later one.
func Decide(rule Rule, candidates []Candidate, payment string, rail accounts.Rail, usd money.Amount, now time.Time) (routes []pay.Route, passed []string) {
	var fit []Candidate
	for _, c := range candidates {
		until, open := c.Circuit.Open(now)
		if !open {
			fit = append(fit, c)
			continue
		}
		passed = append(passed, fmt.Sprintf("%s: it failed too often recently; tried again from %s", c.ID, until.UTC().Format("15:04:05")))
	}
	note := ""
	if len(fit) == 0 && len(candidates) > 0 {
		fit, passed, note = slices.Clone(candidates), nil, "; every account fails at the moment, so all are tried"
	}
	slices.SortFunc(fit, func(a, b Candidate) int { return compare(rule, a, b, rail, usd) })
	first := explore(rule, len(fit), payment)
	if first > 0 {
		chosen := fit[first]
		fit = slices.Insert(slices.Delete(fit, first, first+1), 0, chosen)
	}
	for i, c := range fit {
		why := reason(rule, c, rail, usd) + note
		if i == 0 && first > 0 {
			why = fmt.Sprintf("explored: %d payments of 100 try an account other than the best first; %s", *rule.Explored, why)
		}
		routes = append(routes, pay.Route{Provider: c.ID, Why: why})
	}
	return routes, passed
}

func compare(rule Rule, a, b Candidate, rail accounts.Rail, usd money.Amount) int {
	if len(rule.Weights) > 0 {
		x, y := rule.Weights[a.ID] > 0, rule.Weights[b.ID] > 0
		switch {
		case x && y:
			return cmp.Or(cmp.Compare(rule.drawn[a.ID], rule.drawn[b.ID]), cmp.Compare(a.ID, b.ID))
		case x:
			return -1
		case y:
			return 1
		}
	}
	cost := accounts.CompareCost(a.Account, b.Account, rail.Key, usd)
	priority := cmp.Compare(a.Priority, b.Priority)
	id := cmp.Compare(a.ID, b.ID)
	switch rule.Order {
	case Listed:
		return cmp.Compare(slices.Index(rule.Accounts, a.ID), slices.Index(rule.Accounts, b.ID))
	case LeastCost:
		return cmp.Or(cost, priority, id)
	case SuccessRate:
		return cmp.Or(cmp.Compare(b.Score.Rate(), a.Score.Rate()), priority, cost, id)
	}
	return cmp.Or(priority, cost, id)
}

// explore returns which account goes first: 0 is the best one.
func explore(rule Rule, n int, payment string) int {
	if rule.Order != SuccessRate || n < 2 || payment == "" || len(rule.Weights) > 0 {
		return 0
	}
	h := fnv.New64a()
	h.Write([]byte(payment))
	draw := h.Sum64()
	if draw%100 >= uint64(*rule.Explored) {
		return 0
	}
	return 1 + int(draw/100%uint64(n-1))
}

// reason explains an account's place, for people.
func reason(rule Rule, c Candidate, rail accounts.Rail, usd money.Amount) string {
	cost := "its price is not known"
	if fee, known := c.Cost(rail.Key, usd); known {
		cost = "it costs " + fee.String()
	}
	if of := rule.Weights[c.ID]; of > 0 {
		return fmt.Sprintf("by weight: %d of %d, drawn by the payment's id; %s", of, rule.weight(), cost)
	}
	switch rule.Order {
	case Listed:
		return fmt.Sprintf("as the rules list them: %d of %d; %s", 1+slices.Index(rule.Accounts, c.ID), len(rule.Accounts), cost)
	case LeastCost:
		return fmt.Sprintf("by cost: %s", cost)
	case SuccessRate:
		return fmt.Sprintf("by success: %s between %s succeeded; priority %d", c.Score, Band(usd), c.Priority)
	}
	return fmt.Sprintf("by priority: %d; %s", c.Priority, cost)
}
