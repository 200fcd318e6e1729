package auth

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

const (
	// usesKept is how long a use of a key from an address is not recorded again. usesMost is how
	// many uses are remembered; beyond it all are forgotten and recorded again.
	usesKept = time.Hour
	usesMost = 50_000
	// UsesEvery is how soon a use is written.
	UsesEvery = 10 * time.Second
	// usesBatch is how many uses are written at a time.
	usesBatch = 500
)

// keyUses are the recent uses of keys, by address.
type keyUses struct {
	mu   sync.Mutex // guards the fields below
	seen map[merchants.KeyUse]time.Time
	news map[merchants.KeyUse]time.Time
}

func newKeyUses() *keyUses {
	return &keyUses{seen: map[merchants.KeyUse]time.Time{}, news: map[merchants.KeyUse]time.Time{}}
}

// keyUsed records that a valid key was used, and from where. It does not read the database.
func (ac *Access) keyUsed(p base.Principal) {
	if p.KeyID == "" || p.Address == "" {
		return
	}
	use, now, u := merchants.KeyUse{Key: p.KeyID, Address: p.Address}, ac.Now(), ac.uses
	u.mu.Lock()
	defer u.mu.Unlock()
	if at, known := u.seen[use]; known && now.Sub(at) < usesKept {
		return
	}
	if len(u.seen) >= usesMost {
		clear(u.seen)
		clear(u.news)
	}
	u.seen[use], u.news[use] = now, now
}

// WriteKeyUses writes the recorded uses. It logs and audits a key's first use from a new address,
// but not the key's very first use.
func (ac *Access) WriteKeyUses(ctx context.Context) error {
	for {
		some := ac.uses.drain()
		if len(some) == 0 {
			return nil
		}
		if err := ac.writeKeyUses(ctx, some); err != nil {
			ac.uses.putBack(some) // a use that was written all the same is written again
			return base.UnlessStale(err)
		}
	}
}

// drain removes and returns some of the recorded uses.
func (u *keyUses) drain() map[merchants.KeyUse]time.Time {
	u.mu.Lock()
	defer u.mu.Unlock()
	some := map[merchants.KeyUse]time.Time{}
	for use, at := range u.news {
		if len(some) == usesBatch {
			break
		}
		some[use] = at
		delete(u.news, use)
	}
	return some
}

func (u *keyUses) putBack(some map[merchants.KeyUse]time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for use, at := range some {
		u.news[use] = at
	}
}

func (ac *Access) writeKeyUses(ctx context.Context, some map[merchants.KeyUse]time.Time) error {
	known, addresses, err := ac.Store.Keys().Uses(ctx, slices.Collect(maps.Keys(some)))
	if err != nil {
		return err
	}
	var change pay.Change
	told := map[string][]string{} // key → new addresses
	for use, at := range some {
		next, keep, fresh := use.Again(known[use.ID()], addresses[use.Key], at)
		if !keep {
			continue
		}
		change.KeyUses = append(change.KeyUses, next)
		if next.Version == 1 {
			addresses[use.Key]++
		}
		if fresh {
			told[use.Key] = append(told[use.Key], use.Address)
		}
	}
	if len(change.KeyUses) == 0 {
		return nil
	}
	for id, list := range told {
		key, err := ac.Store.Keys().Get(ctx, id)
		if err != nil {
			return err
		}
		details := map[string]string{"preview": key.Preview}
		if len(list) > 1 { // several at once: one entry lists them all
			details["more"] = fmt.Sprint(len(list) - 1)
		}
		change.Audit = append(change.Audit, ac.Audited(audit.Actor{Kind: audit.BySystem, IP: list[0]}, key.Scope, audit.KeyUsedAnew, key.ID, details)...)
	}
	if err := ac.Store.Commit(ctx, change); err != nil {
		return err
	}
	for id, list := range told {
		ac.events[EventNewAddress].Add(int64(len(list)))
		ac.Quiet.WarnSometimes(ctx, "a key was used from a new address", id, "key", id, "address", list[0], "addresses", len(list))
	}
	return nil
}
