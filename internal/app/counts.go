package app

import (
	"maps"
	"sync"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/webhooks"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// PaymentCount is the key under which payments are counted: those that reached a status.
type PaymentCount struct {
	Rail        string // catalog key
	Environment merchants.Environment
	Status      pay.Status
}

// counts counts the results of payments and deliveries that this node wrote since it started.
type counts struct {
	mu       sync.Mutex                      // guards the fields below
	payments map[PaymentCount]int64          // Rail is the rail's id here
	dead     map[merchants.Environment]int64 // deliveries that were given up
}

func newCounts() *counts {
	return &counts{payments: map[PaymentCount]int64{}, dead: map[merchants.Environment]int64{}}
}

// passed counts the results in a change.
func (co *counts) passed(c *pay.Change) {
	if len(c.Payments) == 0 && len(c.Deliveries) == 0 {
		return
	}
	co.mu.Lock()
	defer co.mu.Unlock()
	for i := range c.Payments {
		if p := &c.Payments[i]; p.Status != p.Stored {
			co.payments[PaymentCount{p.Way.RailID, merchants.EnvironmentOf(p.Live), p.Status}]++
		}
	}
	for i := range c.Deliveries {
		if d := &c.Deliveries[i]; d.Status == webhooks.DeadLetter && d.Stored != webhooks.DeadLetter {
			co.dead[merchants.EnvironmentOf(d.Live)]++
		}
	}
}

// PaymentCounts counts the payments that reached each status in commits of this node since it
// started.
func (a *App) PaymentCounts() map[PaymentCount]int64 {
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	counts := make(map[PaymentCount]int64, len(a.counts.payments))
	for of, n := range a.counts.payments {
		of.Rail = a.catalog.ByID[of.Rail].Key
		counts[of] += n
	}
	return counts
}

// DeadLetters counts the deliveries that this node gave up since it started.
func (a *App) DeadLetters() map[merchants.Environment]int64 {
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	counts := map[merchants.Environment]int64{merchants.Sandbox: 0, merchants.Production: 0}
	maps.Copy(counts, a.counts.dead)
	return counts
}

// Pools returns the use of the database's connections, without a query.
func (a *App) Pools() []engine.Pool { return a.Store.Pools() }

// Engine names the kind of the database: sqlite or postgres.
func (a *App) Engine() string { return a.Store.Engine() }

// SilentAccounts counts the provider accounts that do not answer queries now, as this node sees it,
// by the kind of query: payments, refunds, withdrawals.
func (a *App) SilentAccounts() map[string]int {
	return map[string]int{"payments": a.Cascade.Silent(), "refunds": a.Claims.Silent(), "withdrawals": a.Payouts.Silent()}
}
