package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

const (
	// usesKept is how long a use of a key from an address is not noted again, and usesMost how
	// many are remembered: beyond it all are forgotten, and noted anew.
	usesKept = time.Hour
	usesMost = 50_000
	// usesEvery is how soon a use is written.
	usesEvery = 10 * time.Second
	// usesBatch is how many are written at a time.
	usesBatch = 500
)

// keyUses are from where keys were used, as far as that was noted of late.
type keyUses struct {
	mu   sync.Mutex // owns what follows
	seen map[store.KeyUse]time.Time
	news map[store.KeyUse]time.Time
}

func newKeyUses() *keyUses {
	return &keyUses{seen: map[store.KeyUse]time.Time{}, news: map[store.KeyUse]time.Time{}}
}

// KeyUsed notes that a key was good, and from where. It costs a request no look at the database.
func (a *App) KeyUsed(p Principal) {
	if p.KeyID == "" || p.Address == "" {
		return
	}
	use, now, u := store.KeyUse{Key: p.KeyID, Address: p.Address}, a.Now(), a.uses
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

// WriteKeyUses writes what was noted. A key that is used from an address that it was never used
// from before is told of, unless it was used from nowhere yet.
func (a *App) WriteKeyUses(ctx context.Context) error {
	for {
		some := map[store.KeyUse]time.Time{}
		a.uses.mu.Lock()
		for use, at := range a.uses.news {
			if len(some) == usesBatch {
				break
			}
			some[use] = at
			delete(a.uses.news, use)
		}
		a.uses.mu.Unlock()
		if len(some) == 0 {
			return nil
		}
		fresh, err := a.store.NoteKeyUses(ctx, some)
		if err != nil { // where it was written all the same, it is written again
			a.uses.mu.Lock()
			for use, at := range some {
				a.uses.news[use] = at
			}
			a.uses.mu.Unlock()
			return err
		}
		for _, use := range fresh {
			if err := a.tellNewAddress(ctx, use); err != nil {
				return err
			}
		}
	}
}

// tellNewAddress leaves a trace of a key that is used from a new address.
func (a *App) tellNewAddress(ctx context.Context, use store.KeyUse) error {
	a.auth[AuthNewAddress].Add(1)
	a.warnSometimes("a key is used from an address that it was not used from before", use.Key, "key", use.Key, "address", use.Address)
	left, may := a.quiet.say("key "+use.Key, a.Now(), refusalsEvery)
	if !may {
		return nil
	}
	key, err := a.store.Key(ctx, use.Key)
	if err != nil {
		return err
	}
	details := map[string]string{"preview": key.Preview, "address": use.Address}
	if left > 0 {
		details["more"] = fmt.Sprint(left)
	}
	return a.store.Commit(ctx, pay.Change{Audit: a.audit(pay.Actor{Kind: pay.BySystem}, key.Scope, pay.KeyUsedAnew, key.ID, details)})
}
