// Package replay runs past payments through other routing rules, and reports what would
// have differed: where they begin, approvals and cost.
//
// It assumes that an account's real result would have been its result in the replay. Only
// tries that were never made are estimated, and they are counted separately. The package is
// pure. It is fed the payments one after another, twice, so that any number fits: first a
// Survey, then the Replay. It makes no routing decisions itself: it calls internal/pay/routing
// as a payment does.
package replay

import (
	"fmt"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/routing"
)

// Plan is rules with the accounts to which they apply.
type Plan struct {
	Rules    routing.Rules
	Accounts accounts.Accounts // all, with their rails, also those that accept no payments
}

// Config is the two plans to compare.
type Config struct {
	InForce Plan
	Changed Plan
	// Since is when the period begins. Earlier payments only show how the accounts performed.
	Since    time.Time
	Examples int // how many payments that begin elsewhere are listed one by one
}

// Replay runs payments through two plans. Feed it in order of time.
type Replay struct {
	config   Config
	survey   *Survey
	health   *routing.Health
	timeline timeline
	before   map[string]accounts.Account
	after    map[string]accounts.Account
	report   Report
	rails    map[string]*Sums
	rules    map[string]*Sums // by the rule with conditions that decides
	accounts map[string]*AccountSums
}

// New returns a Replay that estimates from a survey of the same payments.
func New(c Config, s *Survey) *Replay {
	r := &Replay{
		config: c, survey: s, health: routing.NewHealth(), rails: map[string]*Sums{}, rules: map[string]*Sums{}, accounts: map[string]*AccountSums{},
		before: byID(c.InForce.Accounts), after: byID(c.Changed.Accounts),
	}
	r.report.Unpriced.Real, r.report.Unpriced.Replayed = map[string]float64{}, map[string]float64{}
	return r
}

func byID(list accounts.Accounts) map[string]accounts.Account {
	all := make(map[string]accounts.Account, len(list))
	for _, a := range list {
		all[a.ID] = a
	}
	return all
}

// Add replays a payment that really used the operator's accounts, or that none of them
// served.
func (r *Replay) Add(p pay.Payment, rail accounts.Rail) {
	now := p.Times.Created
	r.timeline.learn(r.health, now)
	if !now.Before(r.config.Since) {
		r.compare(p, rail, now)
	}
	r.timeline.add(p, rail)
}

func (r *Replay) compare(p pay.Payment, rail accounts.Rail, now time.Time) {
	if undecided(p) {
		r.report.Open++
		return
	}
	base := r.plan(r.config.InForce, p, rail, now)
	changed := r.plan(r.config.Changed, p, rail, now)
	way := lived(p)
	if !same(base, changed) && !untried(p) {
		way = r.survey.walk(p, rail, changed)
	}
	elsewhere := first(base) != first(changed)
	if first(base) != began(p) {
		r.report.Unexplained++
	}
	sums := []*Sums{&r.report.Sums, sumsOf(r.rails, rail.Key)}
	if len(r.config.Changed.Rules.Conditional) > 0 {
		sums = append(sums, sumsOf(r.rules, changed.Decider))
	}
	for _, s := range sums {
		s.add(p, way, elsewhere)
	}
	r.spend(p, rail, way, sums)
	begins := first(changed)
	if !elsewhere {
		begins = began(p)
	}
	r.place(p, way, begins)
	if elsewhere && len(r.report.Examples) < r.config.Examples {
		r.report.Examples = append(r.report.Examples, example(p, rail, way))
	}
}

func sumsOf(all map[string]*Sums, name string) *Sums {
	if all[name] == nil {
		all[name] = &Sums{}
	}
	return all[name]
}

func (r *Replay) plan(of Plan, p pay.Payment, rail accounts.Rail, now time.Time) pay.Cascade {
	p.Attempts = nil // in its state when it was created
	return r.health.Plan(of.Rules, of.Accounts.Serving(p.Scope, rail), p, rail, now)
}

// first is where a cascade begins, "" if no account serves.
func first(c pay.Cascade) string {
	if len(c.Routes) == 0 {
		return ""
	}
	return c.Routes[0].Provider
}

// began is where a payment really began, "" if no account served.
func began(p pay.Payment) string {
	if len(p.Attempts) == 0 {
		return ""
	}
	return p.Attempts[0].Provider
}

// same reports whether two cascades are the same: then the real result is the result.
func same(a, b pay.Cascade) bool {
	return a.Budget == b.Budget && slices.EqualFunc(a.Routes, b.Routes, func(x, y pay.Route) bool { return x.Provider == y.Provider })
}

// spend sums what providers charged, or would have charged. They charge for paid payments.
func (r *Replay) spend(p pay.Payment, rail accounts.Rail, way path, sums []*Sums) {
	if paid(p) {
		account := p.Attempts[p.End.Captured-1].Provider
		cost, priced := r.before[account].Cost(rail.Key, p.Price.Amount)
		for _, s := range sums {
			s.Volume.Real += p.Price.Amount.Minor
			s.Cost.Real += cost.Minor
		}
		of := r.account(account)
		of.Paid.Real++
		of.Cost.Real += cost.Minor
		if !priced {
			r.report.Unpriced.Real[account]++
		}
	}
	share := int64(0) // of a million such accepted payments, how many are paid
	switch {
	case paid(p):
		share = million
	case !accepted(p):
		share = r.survey.paidShare(rail.Key)
	}
	for _, at := range way.steps {
		likely := int64(at.accepted*float64(share) + 0.5) // in a million
		if likely == 0 {
			continue
		}
		cost, priced := r.after[at.account].Cost(rail.Key, p.Price.Amount)
		for _, s := range sums {
			s.Volume.add(way.known, p.Price.Amount.Minor*likely)
			s.Cost.add(way.known, cost.Minor*likely)
		}
		of := r.account(at.account)
		of.Paid.Replayed += float64(likely) / million
		of.Cost.add(way.known, cost.Minor*likely)
		if !priced {
			r.report.Unpriced.Replayed[at.account] += float64(likely) / million
		}
	}
}

// place counts where payments begin and are tried.
func (r *Replay) place(p pay.Payment, way path, begins string) {
	if at := began(p); at != "" {
		r.account(at).First.Real++
	}
	if begins != "" {
		r.account(begins).First.Replayed++
	}
	for i, a := range p.Attempts {
		of := r.account(a.Provider)
		of.Tries.Real++
		if outcome(p, i) == took {
			of.Accepted.Real++
		}
	}
	for _, at := range way.steps {
		of := r.account(at.account)
		of.Tries.Replayed += at.reached
		of.Accepted.Replayed += at.accepted
		if !at.known {
			of.Guessed += at.reached
		}
	}
}

func (r *Replay) account(id string) *AccountSums {
	of := r.accounts[id]
	if of == nil {
		of = &AccountSums{Account: id}
		r.accounts[id] = of
	}
	return of
}

// words are names of results, for people.
var words = map[result]string{open: "was not tried by its shopper", took: "accepted it", refused: "did not accept it", ended: "refused it for good"}

func example(p pay.Payment, rail accounts.Rail, way path) Example {
	e := Example{ID: p.ID, Rail: rail.Key, Amount: p.Price.Amount, Really: []string{}, Replayed: []string{}}
	for i, a := range p.Attempts {
		e.Really = append(e.Really, a.Provider+" "+words[outcome(p, i)])
	}
	for _, at := range way.steps {
		if at.known {
			e.Replayed = append(e.Replayed, at.account+" "+words[at.result])
			continue
		}
		e.Replayed = append(e.Replayed, fmt.Sprintf("%s would accept %.0f%% of such (estimated from %d tries)", at.account, 100*at.guess.accepted, at.guess.tries))
	}
	return e
}

// usd is cents as an amount.
func usd(cents int64) money.Amount { return money.New(cents, money.USD) }
