package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
)

// ResetsEvery is how often a node looks whether a sandbox is to be emptied.
const ResetsEvery = time.Second

// ResetOf reads the reset of a merchant's sandbox: the one that runs, or the last one. Version is 0 if there was none.
func (sb *Sandbox) ResetOf(ctx context.Context, merchant string) (merchants.Reset, error) {
	r, err := sb.Store.Resets().Get(ctx, merchant)
	if errors.Is(err, store.ErrNotFound) {
		return merchants.Reset{Merchant: merchant}, nil
	}
	return r, err
}

// Reset begins to empty a merchant's sandbox: everything in it goes, its settings stay (SBX-16). The sandbox is closed
// until that is done. If a reset runs already, it is the one that is returned.
//
// Errors: production_key_refused; store.ErrNotFound for a merchant that does not exist.
func (sb *Sandbox) Reset(ctx context.Context, by audit.Actor, scope merchants.Scope) (merchants.Reset, error) {
	if err := sandboxOnly(scope); err != nil {
		return merchants.Reset{}, err
	}
	if _, err := sb.AnyMerchant(ctx, scope.Merchant); err != nil {
		return merchants.Reset{}, err
	}
	begun, err := base.Decide(func() (merchants.Reset, error) {
		r, err := sb.ResetOf(ctx, scope.Merchant)
		if err != nil {
			return r, err
		}
		next, begins := r.Begin(sb.Now())
		if !begins {
			return r, nil
		}
		return next, sb.Store.Commit(ctx, pay.Change{
			Resets: []merchants.Reset{next},
			Audit:  sb.Audited(by, scope, audit.SandboxReset, scope.Merchant, nil),
		})
	})
	sb.Sandboxes.Forget(scope.Merchant)
	return begun, err
}

// EmptySandboxes makes the next pass over each sandbox that is being emptied. Every node may do so at any time: a
// pass belongs to one node, and another node continues if that one does not. A sandbox that fails delays no
// other.
func (sb *Sandbox) EmptySandboxes(ctx context.Context) error {
	list, err := sb.Store.Resets().Running(ctx)
	if err != nil {
		return fmt.Errorf("read which sandboxes are emptied: %w", err)
	}
	var failures []error
	for _, r := range list {
		if ctx.Err() != nil || sb.Now().Before(r.DueAt) {
			continue
		}
		if err := base.UnlessStale(sb.pass(ctx, r)); err != nil {
			failures = append(failures, fmt.Errorf("empty the sandbox of %s: %w", r.Merchant, err))
		}
	}
	return errors.Join(failures...)
}

// boundAtOnce is how many withdrawals leave their float and their batch in one step; then the rest are read again.
const boundAtOnce = 100

// release takes withdrawals out of the operator's floats and batches.
func (sb *Sandbox) release(ctx context.Context, merchant string) error {
	for {
		list, err := sb.Store.Withdrawals().Bound(ctx, merchant, boundAtOnce)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, w := range list {
			if err := sb.releaseOne(ctx, w); err != nil {
				return err
			}
		}
	}
}

// releaseOne takes a withdrawal out of its float and its batch. A batch whose file has not left is dissolved: the file has
// the withdrawal's line, and must not leave any more. Its other withdrawals wait for the next one.
func (sb *Sandbox) releaseOne(ctx context.Context, w pay.Withdrawal) error {
	if w.Payout.Batch == "" {
		return sb.Store.Commit(ctx, w.Drop(nil, sb.TimeOf(w.Scope)))
	}
	b, err := sb.Store.Batches().Get(ctx, w.Payout.Batch)
	if err != nil {
		return err
	}
	if !b.MayDissolve() {
		return sb.Store.Commit(ctx, w.Drop(&b, sb.TimeOf(w.Scope)))
	}
	of, err := sb.Store.Batches().Batched(ctx, b.ID)
	if err != nil {
		return err
	}
	next, change, err := b.Dissolve(of, sb.Now())
	if err != nil {
		return err
	}
	change.Audit = sb.Audited(audit.Actor{Kind: audit.BySystem}, b.Scope(), audit.BatchGivenUp, b.ID, map[string]string{"account": b.Account, "status": string(next.Status)})
	return sb.Store.Commit(ctx, change)
}

// settle ends a reset: the test clock goes back, and the rows that stay forget those that are gone.
func (sb *Sandbox) settle(ctx context.Context, r merchants.Reset, change *pay.Change) error {
	scope := merchants.Scope{Merchant: r.Merchant}
	clock, err := sb.clock(ctx, r.Merchant)
	if err != nil {
		return err
	}
	if clock.Advance > 0 {
		change.Clocks = []merchants.Clock{clock.Back()}
	}
	controls, err := sb.Store.Withdrawals().Controls(ctx, r.Merchant, false)
	if err != nil {
		return err
	}
	for _, c := range controls {
		if c.Merchant == r.Merchant {
			change.Controls = append(change.Controls, c.Forget())
		}
	}
	shops, err := sb.Store.Merchants().Shops(ctx, r.Merchant)
	if err != nil {
		return err
	}
	for _, shop := range shops {
		list, _, err := sb.Store.Subscriptions().List(ctx, merchants.Scope{Merchant: r.Merchant, Shop: shop.ID}, lists.Page{Limit: mostEndpoints})
		if err != nil {
			return err
		}
		for _, s := range list {
			if calm, changed := s.Calmed(sb.Now()); changed {
				change.Subscriptions = append(change.Subscriptions, calm)
			}
		}
	}
	change.Audit = sb.Audited(audit.Actor{Kind: audit.BySystem}, scope, audit.SandboxEmptied, r.Merchant, map[string]string{"rows": strconv.FormatInt(r.Deleted, 10)})
	return nil
}

// mostEndpoints is more than a shop may have.
const mostEndpoints = 10_000

// resetRest is the pause after a step of a pass, in multiples of the step's duration. Otherwise others could hardly write on
// SQLite, which has one writer at a time.
const resetRest = 2

// pass makes one pass, and ends the reset if nothing is left.
func (sb *Sandbox) pass(ctx context.Context, r merchants.Reset) error {
	renew := func() error {
		r = r.Lease(sb.Now())
		return sb.Store.Commit(ctx, pay.Change{Resets: []merchants.Reset{r}})
	}
	if err := renew(); err != nil {
		return err
	}
	if err := sb.release(ctx, r.Merchant); err != nil {
		return err
	}
	since := sb.Now()
	swept, err := sb.Store.EmptySandbox(ctx, r.Merchant, since, func() (err error) {
		base.Rest(ctx, resetRest*sb.Now().Sub(since))
		if err = ctx.Err(); err == nil && !sb.Now().Before(r.DueAt.Add(-merchants.ResetLease/2)) {
			err = renew()
		}
		since = sb.Now()
		return err
	})
	if err != nil {
		return err
	}
	next, over := r.Swept(swept.Found, swept.Deleted, sb.Now())
	change := pay.Change{Resets: []merchants.Reset{next}}
	if over {
		next.SealedTo = swept.SealedTo
		change.Resets[0] = next
		if err := sb.settle(ctx, next, &change); err != nil {
			return err
		}
	}
	if err := sb.Store.Commit(ctx, change); err != nil {
		return err
	}
	if over {
		sb.Sandboxes.Forget(r.Merchant)
		sb.Log.Info("a sandbox was emptied", "merchant", r.Merchant, "rows", next.Deleted, "took", next.DoneAt.Sub(next.StartedAt))
		sb.Reread(ctx, "clocks", sb.ReadClocks)
	}
	return nil
}
