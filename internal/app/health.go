package app

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/routing"
)

// health is how the operator's accounts do, as this node sees it. Each node finds
// out by itself: a provider that fails does so for all of them.
type health struct {
	mu       sync.Mutex // owns what follows
	circuits map[seat]routing.Circuit
	scores   map[kind]routing.Score
}

// seat is an account on a rail.
type seat struct{ account, rail string }

// kind is payments that are rated together.
type kind struct {
	seat
	band string
}

func newHealth() *health {
	return &health{circuits: map[seat]routing.Circuit{}, scores: map[kind]routing.Score{}}
}

// began notes that a charge is made.
func (h *health) began(s seat, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.circuits[s] = h.circuits[s].Begin(now)
}

// ended notes what came of it, and reports whether the account is passed over from
// now on, or is not any more.
func (h *health) ended(s seat, band string, o pay.Outcome, took time.Duration, now time.Time) (open, turned bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.circuits[s], turned = h.circuits[s].End(answers(o) && took < routing.Slow, now)
	of := kind{s, band}
	h.scores[of] = h.scores[of].End(o.Kind == pay.Approved || o.Kind == pay.Awaiting, now)
	_, open = h.circuits[s].Open(now)
	return open, turned
}

// answers reports whether a provider does its work: a decline is work done.
func answers(o pay.Outcome) bool {
	switch o.Kind {
	case pay.Approved, pay.Awaiting, pay.Declined, pay.Lapsed:
		return true
	}
	return false
}

// candidate is an account with what is known of it.
func (h *health) candidate(account pay.ProviderAccount, rail, band string) routing.Candidate {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := seat{account.ID, rail}
	return routing.Candidate{ProviderAccount: account, Circuit: h.circuits[s], Score: h.scores[kind{s, band}]}
}

// open counts the accounts' rails that are passed over.
func (h *health) open(now time.Time) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.circuits {
		if _, open := c.Open(now); open {
			n++
		}
	}
	return n
}

// RailHealth is how an account does on a rail, as this node sees it.
type RailHealth struct {
	Account string
	Rail    string
	Circuit routing.Circuit
	Bands   []BandHealth
}

// BandHealth is how payments of a size go.
type BandHealth struct {
	Band  string
	Score routing.Score
}

// Health lists how the accounts do that this node has called since it started, as
// far as they were not removed. Other nodes may have seen something else.
func (a *App) Health() []RailHealth {
	known := a.desks.Load().byID
	a.health.mu.Lock()
	defer a.health.mu.Unlock()
	var list []RailHealth
	for s, circuit := range a.health.circuits {
		if _, present := known[s.account]; !present {
			continue
		}
		rail := RailHealth{Account: s.account, Rail: s.rail, Circuit: circuit}
		for _, band := range routing.Bands() {
			if score, rated := a.health.scores[kind{s, band}]; rated {
				rail.Bands = append(rail.Bands, BandHealth{band, score})
			}
		}
		list = append(list, rail)
	}
	slices.SortFunc(list, func(x, y RailHealth) int {
		return cmp.Or(cmp.Compare(x.Account, y.Account), cmp.Compare(x.Rail, y.Rail))
	})
	return list
}

// decide orders the accounts that serve a payment's rail.
func (a *App) decide(serving pay.Accounts, rail pay.Rail, p pay.Payment) []pay.Route {
	taking, passed := serving.Taking(rail, p.Local)
	candidates := make([]routing.Candidate, 0, len(taking))
	for _, account := range taking {
		if p.Tried(account.ID) { // it is no choice any more: who is left may be one that fails of late
			continue
		}
		candidates = append(candidates, a.health.candidate(account, rail.Key, routing.Band(p.Amount)))
	}
	routes, failing := routing.Decide(a.Routing, candidates, p.ID, rail, p.Amount, a.Now())
	passed = append(passed, failing...)
	for i := range routes {
		routes[i].Passed = passed
	}
	return routes
}

// watched makes a call to one of the operator's accounts, and learns from it.
func (a *App) watched(p pay.Payment, account string, call func() pay.Outcome) pay.Outcome {
	if _, simulated := a.Providers[account]; simulated {
		return call()
	}
	s := seat{account, a.catalog.byID[p.RailID].Key}
	began := a.Now()
	a.health.began(s, began)
	o := call()
	now := a.Now()
	a.tally.charged(ProviderCalls{account, s.rail, o.Kind}, now.Sub(began))
	switch open, turned := a.health.ended(s, routing.Band(p.Amount), o, now.Sub(began), now); {
	case turned && open:
		a.Log.Warn("a provider account fails and is passed over", "account", account, "rail", s.rail, "last", o.Decline)
	case turned:
		a.Log.Info("a provider account works again", "account", account, "rail", s.rail)
	}
	return o
}

// OpenCircuits counts the rails of provider accounts that this node passes over.
func (a *App) OpenCircuits() int { return a.health.open(a.Now()) }
