package routing

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
)

// Health records how accounts perform: their circuits by rail, their scores by rail and band of
// amounts. It is not safe for concurrent use; call it in order of time.
type Health struct {
	circuits map[seat]Circuit
	scores   map[kind]Score
}

// seat is an account on a rail.
type seat struct{ account, rail string }

// kind names the payments that are rated together.
type kind struct {
	seat
	band string
}

// NewHealth returns a Health with no data.
func NewHealth() *Health {
	return &Health{circuits: map[seat]Circuit{}, scores: map[kind]Score{}}
}

// Began records that a charge begins.
func (h *Health) Began(account, rail string, now time.Time) {
	s := seat{account, rail}
	h.circuits[s] = h.circuits[s].Begin(now)
}

// Call is the result of a charge's call.
type Call struct {
	Account, Rail, Band string
	Page                bool // the shopper pays on a page of the provider's, if one was opened: the call does not decide
	Said                pay.OutcomeKind
	Took                time.Duration
}

// Ended records the outcome of a charge's call, and reports whether payments now pass the account
// over (open), and whether that has changed (turned). A refused request is the merchant's mistake
// or ours: it says nothing about the account, unless it took long.
//
// The circuit is about answering. The score is about shoppers, so a page that was opened says nothing yet: Finished does.
func (h *Health) Ended(c Call, now time.Time) (open, turned bool) {
	s := seat{c.Account, c.Rail}
	if c.Said == pay.Errored && c.Took < Slow {
		h.circuits[s] = h.circuits[s].Pass(now.Add(-c.Took), now)
		return false, false
	}
	h.circuits[s], turned = h.circuits[s].End(Answers(c.Said) && c.Took < Slow, now)
	of := kind{s, c.Band}
	if c.Said == pay.Awaiting {
		h.scores[of] = h.scores[of].Opened(now)
	}
	if c.Said != pay.Awaiting || !c.Page {
		h.scores[of] = h.scores[of].End(accepted(c.Said), now)
	}
	_, open = h.circuits[s].Open(now)
	return open, turned
}

// Finished records what the end of a payment tells about accounts and their calls could not. A card's page was a success if its
// shopper paid, and none if the shopper was refused; if nobody tried, that says nothing about the account. A voucher or a transfer
// was accepted by its call, and that nobody paid it says nothing; but if a bank refuses its shopper later, it was not accepted.
//
// Each node records the ends that it wrote, whichever node opened the page, and before a restart too.
func (h *Health) Finished(p pay.Payment, rail string, now time.Time) {
	band := Band(p.Price.Amount)
	for _, a := range p.Attempts {
		of := kind{seat{a.Provider, rail}, band}
		said, at, called := a.CallResult()
		switch fate := pay.FateOf(&p, a.Order); {
		case fate != pay.FatePaid && fate != pay.FateRefused, called && said != pay.Awaiting:
		case p.Way.Sync:
			h.scores[of] = h.scores[of].End(fate == pay.FatePaid, now)
		case fate == pay.FateRefused && called:
			h.scores[of] = h.scores[of].Refuse(at, now)
		}
	}
}

// Answers reports whether a provider works: a decline counts as working.
func Answers(said pay.OutcomeKind) bool {
	switch said {
	case pay.Approved, pay.Reversed, pay.Awaiting, pay.Declined, pay.Lapsed:
		return true
	}
	return false
}

// accepted reports whether a call says that the provider accepted the payment.
func accepted(said pay.OutcomeKind) bool {
	return said == pay.Approved || said == pay.Reversed || said == pay.Awaiting
}

// Candidate is an account with its recorded health.
func (h *Health) Candidate(account accounts.Account, rail, band string) Candidate {
	s := seat{account.ID, rail}
	return Candidate{Account: account, Circuit: h.circuits[s], Score: h.scores[kind{s, band}]}
}

// Called iterates over the accounts that were called, by account and rail.
func (h *Health) Called() iter.Seq2[string, string] {
	return func(yield func(account, rail string) bool) {
		for s := range h.circuits {
			if !yield(s.account, s.rail) {
				return
			}
		}
	}
}

// Open counts the rails of accounts that are passed over.
func (h *Health) Open(now time.Time) (n int) {
	for _, c := range h.circuits {
		if _, open := c.Open(now); open {
			n++
		}
	}
	return n
}

// Plan returns the cascade of a payment and its budget. The cascade has the accounts that
// serve the merchant and rail, that the rules choose, and that accept the amount, in order
// and with the reasons.
func (h *Health) Plan(rules Rules, serving accounts.Accounts, p pay.Payment, rail accounts.Rail, now time.Time) pay.Cascade {
	c := pay.Cascade{Budget: rules.Bounds(), Retry: rules.Retries()}
	c.Routes, c.Decider = h.routes(&rules, serving, &p, rail, now)
	if len(p.Attempts) == 0 && len(c.Routes) > 0 && rules.byAttempt() { // what follows the first attempt is as the rules say of later ones
		p.Attempts = pay.Attempts{{Order: 1, Provider: c.Routes[0].Provider}}
		later, _ := h.routes(&rules, serving, &p, rail, now)
		if !h.fails(c.Routes[0].Provider, rail, now) { // not all fail, so those that do are passed over
			later = slices.DeleteFunc(later, func(r pay.Route) bool { return h.fails(r.Provider, rail, now) })
		}
		c.Routes = append(c.Routes[:1:1], later...)
	}
	return c
}

// fails reports whether the circuit of an account on a rail is open.
func (h *Health) fails(account string, rail accounts.Rail, now time.Time) bool {
	_, open := h.circuits[seat{account, rail.Key}].Open(now)
	return open
}

// routes returns where a payment may be tried next, and the name of the rule with conditions that decides so.
func (h *Health) routes(rules *Rules, serving accounts.Accounts, p *pay.Payment, rail accounts.Rail, now time.Time) ([]pay.Route, string) {
	choice := rules.Choose(p, rail, serving)
	accepting, small := choice.Accounts.Accepting(rail, p.Price.Local)
	band := Band(p.Price.Amount)
	candidates := make([]Candidate, 0, len(accepting))
	for _, account := range accepting {
		if p.Attempts.Tried(account.ID) { // a payment tries an account once; one that fails may be the only one that remains
			continue
		}
		candidates = append(candidates, h.Candidate(account, rail.Key, band))
	}
	choice.Rule = choice.Rule.draws(p.ID)
	explores := p.ID // only a first try may explore
	if len(p.Attempts) > 0 {
		explores = ""
	}
	routes, failing := Decide(choice.Rule, candidates, explores, rail, p.Price.Amount, now)
	passed := append(append(choice.Passed, small...), failing...)
	for i := range routes {
		routes[i].Passed = passed
		if choice.Name != "" {
			routes[i].Why = fmt.Sprintf("rule %s (%s): %s", choice.Name, choice.Why, routes[i].Why)
		}
	}
	return routes, choice.Name
}
