package accounts

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/analytics"
	"github.com/cascadapay/cascada/internal/pay/routing"
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

func (h *health) ended(c routing.Call, now time.Time) (open, turned bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of.Ended(c, now)
}

func (h *health) finished(p pay.Payment, rail string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of.Finished(p, rail, now)
}

func (h *health) plan(rules routing.Rules, serving accounts.Accounts, p pay.Payment, rail accounts.Rail, now time.Time) pay.Cascade {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.of.Plan(rules, serving, p, rail, now)
}

func (h *health) candidate(account accounts.Account, rail, band string) routing.Candidate {
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
			candidate := ps.health.of.Candidate(accounts.Account{ID: account}, rail, band)
			if of.Circuit = candidate.Circuit; candidate.Score.Known() {
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

// Record is how payments ended at a provider account in some days: as all nodes counted it, also before a restart.
type Record struct {
	Rails    []RailRecord // those with most payments first
	Refusals []Refusals   // the shoppers' tries that did not pay, the most frequent reason first
}

// RailRecord counts the attempts at an account on a rail.
type RailRecord struct {
	Rail     string // catalog key; "" of all rails
	Paid     int64
	Declined int64 // a shopper was refused, or the account did not open it
	Untried  int64 // a page or voucher was opened, and no shopper tried or paid
}

// Opened is the number of attempts that ended, Decided that of those which were paid or declined.
func (r RailRecord) Opened() int64 { return r.Paid + r.Declined + r.Untried }

// Decided: see Opened.
func (r RailRecord) Decided() int64 { return r.Paid + r.Declined }

func (r *RailRecord) count(of analytics.Outcome, n int64) {
	switch of {
	case analytics.Paid:
		r.Paid += n
	case analytics.Declined:
		r.Declined += n
	default:
		r.Untried += n
	}
}

// Refusals is how often shoppers were refused for a reason.
type Refusals struct {
	Reason string // a decline.Reason
	N      int64
}

// RecordDays is how many days a Record has.
const RecordDays = 30

// counts reads the totals of a dimension in the days of a Record, of all shops.
func (ac *Accounts) counts(ctx context.Context, live bool, d analytics.Dimension, each func(account, rest string, of analytics.Outcome, n int64)) error {
	to := ac.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
	from := to.AddDate(0, 0, -RecordDays)
	list, err := ac.Store.Rollups().Values(ctx, analytics.Everyone, live, d, from, from, to)
	for _, t := range list {
		account, rest, _ := strings.Cut(t.Value, "/")
		each(account, rest, t.Outcome, t.N)
	}
	return err
}

// Records returns how the attempts at each account ended, all rails together.
func (ac *Accounts) Records(ctx context.Context) (map[string]RailRecord, error) {
	all := map[string]RailRecord{}
	for _, live := range []bool{true, false} {
		err := ac.counts(ctx, live, analytics.ByAccount, func(account, _ string, of analytics.Outcome, n int64) {
			r := all[account]
			r.count(of, n)
			all[account] = r
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Record returns how payments ended at an account.
func (ac *Accounts) Record(ctx context.Context, id string, live bool) (r Record, err error) {
	rails := map[string]*RailRecord{}
	err = ac.counts(ctx, live, analytics.ByRoute, func(account, rail string, of analytics.Outcome, n int64) {
		if account != id {
			return
		}
		if rails[rail] == nil {
			rails[rail] = &RailRecord{Rail: cmp.Or(ac.providers.Catalog.ByID[rail].Key, rail)}
		}
		rails[rail].count(of, n)
	})
	if err != nil {
		return r, err
	}
	reasons := map[string]int64{}
	err = ac.counts(ctx, live, analytics.ByAccountRefusal, func(account, reason string, _ analytics.Outcome, n int64) {
		if account == id {
			reasons[reason] += n
		}
	})
	for _, of := range rails {
		r.Rails = append(r.Rails, *of)
	}
	for reason, n := range reasons {
		r.Refusals = append(r.Refusals, Refusals{reason, n})
	}
	slices.SortFunc(r.Rails, func(x, y RailRecord) int {
		return cmp.Or(cmp.Compare(y.Opened(), x.Opened()), cmp.Compare(x.Rail, y.Rail))
	})
	slices.SortFunc(r.Refusals, func(x, y Refusals) int { return cmp.Or(cmp.Compare(y.N, x.N), cmp.Compare(x.Reason, y.Reason)) })
	return r, err
}

// Watched makes a call to one of the operator's accounts and records its result for the account's
// health.
func (ps *Providers) Watched(ctx context.Context, p pay.Payment, account string, call func() pay.Outcome) pay.Outcome {
	if _, standIn := ps.StandIns[account]; standIn {
		return call()
	}
	rail := ps.Catalog.ByID[p.Way.RailID].Key
	began := ps.Now()
	ps.health.began(account, rail, began)
	o := call()
	now := ps.Now()
	ps.tally.charged(ProviderCalls{account, rail, o.Kind}, now.Sub(began))
	said := routing.Call{Account: account, Rail: rail, Band: routing.Band(p.Price.Amount), Page: p.Way.Sync, Said: o.Kind, Took: now.Sub(began)}
	switch open, turned := ps.health.ended(said, now); {
	case turned && open:
		ps.Log.WarnContext(ctx, "a provider account fails: it is passed over", "account", account, "rail", rail, "last", o.Decline)
	case turned:
		ps.Log.InfoContext(ctx, "a provider account works again", "account", account, "rail", rail)
	}
	return o
}

// ended records what the end of a payment that this node wrote tells about its accounts.
func (ps *Providers) ended(p pay.Payment) {
	if len(p.Attempts) == 0 {
		return
	}
	if _, standIn := ps.StandIns[p.Attempts[0].Provider]; !standIn { // a payment's accounts are all stand-ins, or none is
		ps.health.finished(p, ps.Catalog.ByID[p.Way.RailID].Key, ps.Now())
	}
}

// OpenCircuits counts the rails of provider accounts on which a circuit is open at this node.
func (ps *Providers) OpenCircuits() int { return ps.health.open(ps.Now()) }

// Candidate is what this node knows of an account's health on a rail, in a band of amounts.
func Candidate(ps *Providers, account accounts.Account, rail, band string) routing.Candidate {
	return ps.health.candidate(account, rail, band)
}
