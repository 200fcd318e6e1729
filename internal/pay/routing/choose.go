package routing

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
)

// Choice is the rule that decides about a payment, and the accounts to which it may go.
type Choice struct {
	Rule     Rule   // complete
	Name     string // of the rule with conditions; "" if the rail's rule decides
	Why      string // the conditions that the payment meets
	Accounts accounts.Accounts
	Passed   []string // accounts and rules that were passed over, and why
}

// limits reports whether a rule says which accounts may be tried.
func (ru Rule) limits() bool { return len(ru.Accounts)+len(ru.Weights) > 0 }

// weight is the sum of a rule's weights.
func (ru Rule) weight() (all int) {
	for _, n := range ru.Weights {
		all += n
	}
	return all
}

// lists reports whether a rule says that an account may be tried.
func (ru Rule) lists(account string) bool {
	return ru.Weights[account] > 0 || slices.Contains(ru.Accounts, account)
}

// Choose returns the rule that decides about a payment in its present state, and those of the serving accounts that it lists: the
// first rule with conditions that the payment meets, and that can take it; else the rail's.
//
// A rule with conditions cannot take a payment if it lists accounts, and none of them serves it and accepts its amount. Then the next
// rule is asked. If no account that the rail's rule lists serves, its list is ignored. Both are so because a rule about some accounts
// must not take a payment from a merchant whom other accounts serve, such as in the other environment.
func (r *Rules) Choose(p *pay.Payment, rail accounts.Rail, serving accounts.Accounts) Choice {
	if len(r.Conditional) == 0 {
		return r.ofRail(rail.Key, serving)
	}
	t := TraitsOf(p, rail.Key)
	var unable []string
	for i := range r.Conditional {
		of := &r.Conditional[i]
		if of.When.fails(&t, r.Zone) != "" {
			continue
		}
		c := Choice{Rule: r.complete(of.Rule), Name: of.Name, Accounts: serving}
		if of.limits() {
			c.Accounts, c.Passed = of.listed(serving, "rule "+of.Name+" does not list it")
			accepting, _ := c.Accounts.Accepting(rail, p.Price.Local)
			again := of.When.Attempt == LaterTry || len(of.When.CardCountries) > 0 // such a rule never decides a first attempt
			if !slices.ContainsFunc(accepting, func(a accounts.Account) bool { return !again || !p.Attempts.Tried(a.ID) }) {
				unable = append(unable, "rule "+of.Name+": none of its accounts takes this payment")
				continue
			}
		}
		c.Why, c.Passed = of.When.describe(&t, r.Zone), append(unable, c.Passed...)
		return c
	}
	c := r.ofRail(rail.Key, serving)
	if c.Rule.limits() {
		if accepting, _ := c.Accounts.Accepting(rail, p.Price.Local); len(accepting) == 0 { // the catalog has the limits of the rules' accounts too
			c = r.ofRail(rail.Key, nil) // its list has no effect
			c.Accounts = r.Possible(p.Merchant, p.Shop, rail.Key, serving)
		}
	}
	if len(unable) > 0 {
		c.Passed = append(unable, c.Passed...)
	}
	return c
}

// ofRail is Choose by the rule of a rail.
func (r *Rules) ofRail(rail string, serving accounts.Accounts) Choice {
	c := Choice{Rule: r.For(rail), Accounts: serving}
	if !c.Rule.limits() {
		return c
	}
	chosen, passed := c.Rule.listed(serving, "the rules do not list it")
	if len(chosen) > 0 {
		c.Accounts, c.Passed = chosen, passed
		return c
	}
	if c.Rule.Weights = nil; c.Rule.Order == Listed {
		c.Rule.Order = cmp.Or(r.Order, Priority)
	}
	return c
}

// listed selects the accounts that a rule lists. passed are the others, and why.
func (ru Rule) listed(serving accounts.Accounts, why string) (chosen accounts.Accounts, passed []string) {
	for _, a := range serving {
		if ru.lists(a.ID) {
			chosen = append(chosen, a)
			continue
		}
		passed = append(passed, a.ID+": "+why)
	}
	return chosen, passed
}

// Possible returns those of the serving accounts to which payments of a shop over a rail may go, before there is one: those of the rail's
// rule, and of every rule whose conditions such a payment may meet.
func (r *Rules) Possible(merchant, shop, rail string, serving accounts.Accounts) accounts.Accounts {
	usual := r.ofRail(rail, serving).Accounts
	var some []*Conditional
	for i := range r.Conditional {
		of := &r.Conditional[i]
		switch {
		case !of.When.possible(merchant, shop, rail):
		case !of.limits():
			return serving
		default:
			some = append(some, of)
		}
	}
	if len(some) == 0 {
		return usual
	}
	var all accounts.Accounts
	for _, a := range serving {
		if slices.ContainsFunc(some, func(of *Conditional) bool { return of.lists(a.ID) }) || slices.ContainsFunc(usual, func(of accounts.Account) bool { return of.ID == a.ID }) {
			all = append(all, a)
		}
	}
	return all
}

// Verdict is what a rule with conditions has to do with a payment.
type Verdict struct {
	Rule    string
	Decides bool
	Why     string // the conditions that the payment meets, or what keeps the rule from deciding
}

// Verdicts says of every rule with conditions whether it decides about a payment, and why.
func (r *Rules) Verdicts(p *pay.Payment, rail accounts.Rail, serving accounts.Accounts) (list []Verdict) {
	t, decider := TraitsOf(p, rail.Key), r.Choose(p, rail, serving).Name
	decided := false
	for i := range r.Conditional {
		of := &r.Conditional[i]
		v := Verdict{Rule: of.Name}
		switch failed := of.When.fails(&t, r.Zone); {
		case failed != "":
			v.Why = of.When.failsFor(failed, &t, r.Zone)
		case of.Name == decider:
			v.Why, v.Decides, decided = of.When.describe(&t, r.Zone), true, true
		case decided:
			v.Why = fmt.Sprintf("%s; but rule %s is before it", of.When.describe(&t, r.Zone), decider)
		default:
			v.Why = of.When.describe(&t, r.Zone) + "; but none of its accounts takes this payment"
		}
		list = append(list, v)
	}
	return list
}

// byAttempt reports whether a rule is for first or for later attempts alone.
func (r *Rules) byAttempt() bool {
	for i := range r.Conditional { // a Conditional is large
		if r.Conditional[i].When.Attempt != "" {
			return true
		}
	}
	return false
}

// draws returns a rule with the draws of a payment.
func (ru Rule) draws(payment string) Rule {
	if len(ru.Weights) == 0 {
		return ru
	}
	ru.drawn = make(map[string]uint64, len(ru.Weights))
	for account, weight := range ru.Weights {
		ru.drawn[account] = draw(payment, account, weight)
	}
	return ru
}

// draw is the place of an account with a weight among those of a payment: the one with the smallest draw is first. It follows from the
// ids and the weight alone, so it is the same whenever and wherever it is drawn. Of all payments, an account has the smallest draw in
// the share of its weight; and if an account is missing, its payments are spread over the others by their weights, and no other payment
// moves.
//
// It is an exponential variate with the weight as its rate, -log2(u)/weight, in units of 2^-48.
func draw(payment, account string, weight int) uint64 {
	h := sha256.Sum256([]byte(payment + " " + account))
	return negativeLog2(binary.BigEndian.Uint64(h[:8])) << 16 / uint64(weight) //nolint:gosec // Check wants a weight from 1
}

// negativeLog2 is -log2(n / 2^64) in units of 2^-32. It uses whole numbers, because a float may differ between processors.
func negativeLog2(n uint64) uint64 {
	n |= 1 // 0 has no logarithm
	zeros := bits.LeadingZeros64(n)
	n <<= zeros // from 2^63
	var fraction uint64
	for range 32 { // squaring doubles the logarithm: whether it exceeds one is its next bit
		high, _ := bits.Mul64(n, n)
		fraction <<= 1
		if high >= 1<<63 {
			fraction |= 1
			n = high
		} else {
			n = high << 1
		}
	}
	return (uint64(zeros)+1)<<32 - fraction //nolint:gosec // at most 64
}
