package app

import (
	"maps"
	"sync"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store/engine"
)

// PaymentCount names the payments that are counted together: those that came to a status.
type PaymentCount struct {
	Rail        string // catalog key
	Environment pay.Environment
	Status      pay.Status
}

// counts is what came of payments and deliveries by what this node wrote since it started.
type counts struct {
	mu       sync.Mutex                // owns what follows
	payments map[PaymentCount]int64    // with the id of the rail for its key
	dead     map[pay.Environment]int64 // deliveries that were given up
}

func newCounts() *counts {
	return &counts{payments: map[PaymentCount]int64{}, dead: map[pay.Environment]int64{}}
}

// passed counts what a change makes of payments and deliveries.
func (t *counts) passed(c *pay.Change) {
	if len(c.Payments) == 0 && len(c.Deliveries) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range c.Payments {
		if p := &c.Payments[i]; p.Status != p.Stored {
			t.payments[PaymentCount{p.RailID, pay.EnvironmentOf(p.Live), p.Status}]++
		}
	}
	for i := range c.Deliveries {
		if d := &c.Deliveries[i]; d.Status == pay.DeadLetter && d.Stored != pay.DeadLetter {
			t.dead[pay.EnvironmentOf(d.Live)]++
		}
	}
}

// PaymentCounts counts the payments that came to each status by what this node wrote since it
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
func (a *App) DeadLetters() map[pay.Environment]int64 {
	a.counts.mu.Lock()
	defer a.counts.mu.Unlock()
	counts := map[pay.Environment]int64{pay.Sandbox: 0, pay.Production: 0}
	maps.Copy(counts, a.counts.dead)
	return counts
}

// Pools tells how the database's connections are used, without asking it.
func (a *App) Pools() []engine.Pool { return a.Store.Pools() }

// Engine names the kind of the database: sqlite or postgres.
func (a *App) Engine() string { return a.Store.Engine() }

// SilentAccounts counts the provider accounts that answer no questions now, by what is
// asked of them: payments, refunds, withdrawals. This node sees it so.
func (a *App) SilentAccounts() map[string]int {
	return map[string]int{"payments": a.Cascade.Silent(), "refunds": a.Claims.Silent(), "withdrawals": a.Payouts.Silent()}
}
