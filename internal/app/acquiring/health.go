package acquiring

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/routing"
)

// health is the health of the operator's accounts as this node sees it. Each node finds out by
// itself: a provider that fails, fails for all nodes.
type health struct {
	mu sync.Mutex // guards of
	of *routing.Health
}

func newHealth() *health { return &health{of: routing.NewHealth()} }

func (h *health) began(account, rail string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of.Began(account, rail, now)
}

func (h *health) ended(account, rail, band string, o pay.Outcome, took time.Duration, now time.Time) (open, turned bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of.Ended(account, rail, band, o.Kind, took, now)
}

func (h *health) plan(rules routing.Rules, serving acquirer.Accounts, p pay.Payment, rail acquirer.Rail, now time.Time) pay.Cascade {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of.Plan(rules, serving, p, rail, now)
}

func (h *health) candidate(account acquirer.Account, rail, band string) routing.Candidate {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of.Candidate(account, rail, band)
}

func (h *health) open(now time.Time) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of.Open(now)
}

// RailHealth is an account's health on a rail, as this node sees it.
type RailHealth struct {
	Account string
	Rail    string
	Circuit routing.Circuit
	Bands   []BandHealth
}

// BandHealth is the success of payments of a size.
type BandHealth struct {
	Band  string
	Score routing.Score
}

// Health lists the health of each provider account that this node has called since it started.
// Removed accounts are not listed. Other nodes may see other results.
func (ps *Providers) Health() []RailHealth {
	known := ps.connectors.Load().byID
	ps.health.mu.Lock()
	defer ps.health.mu.Unlock()
	var list []RailHealth
	for account, rail := range ps.health.of.Called() {
		if _, present := known[account]; !present {
			continue
		}
		of := RailHealth{Account: account, Rail: rail}
		for _, band := range routing.Bands() {
			candidate := ps.health.of.Candidate(acquirer.Account{ID: account}, rail, band)
			if of.Circuit = candidate.Circuit; candidate.Score.Payments() > 0 {
				of.Bands = append(of.Bands, BandHealth{band, candidate.Score})
			}
		}
		list = append(list, of)
	}
	slices.SortFunc(list, func(x, y RailHealth) int {
		return cmp.Or(cmp.Compare(x.Account, y.Account), cmp.Compare(x.Rail, y.Rail))
	})
	return list
}

// Watched makes a call to one of the operator's accounts and records its result for the account's
// health.
func (ps *Providers) Watched(ctx context.Context, p pay.Payment, account string, call func() pay.Outcome) pay.Outcome {
	if _, standIn := ps.StandIns[account]; standIn {
		return call()
	}
	rail := ps.catalog.ByID[p.Way.RailID].Key
	began := ps.Now()
	ps.health.began(account, rail, began)
	o := call()
	now := ps.Now()
	ps.tally.charged(ProviderCalls{account, rail, o.Kind}, now.Sub(began))
	switch open, turned := ps.health.ended(account, rail, routing.Band(p.Price.Amount), o, now.Sub(began), now); {
	case turned && open:
		ps.Log.WarnContext(ctx, "a provider account fails: it is passed over", "account", account, "rail", rail, "last", o.Decline)
	case turned:
		ps.Log.InfoContext(ctx, "a provider account works again", "account", account, "rail", rail)
	}
	return o
}

// OpenCircuits counts the rails of provider accounts on which a circuit is open at this node.
func (ps *Providers) OpenCircuits() int { return ps.health.open(ps.Now()) }
