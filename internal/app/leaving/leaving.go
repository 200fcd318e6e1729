// Package leaving takes merchants to their end: it closes them, pays their balance out once nothing can change it, exports what is theirs,
// and erases what is theirs alone once its retention is over (docs/decisions/leaving.md).
package leaving

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/mails"
	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/people"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/privacy"
	"github.com/cascadapay/cascada/internal/app/webhooks"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	news "github.com/cascadapay/cascada/internal/pay/mails"
	tenants "github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Every is the pause between two looks at the merchants that leave. What they wait for takes days.
const Every = 10 * time.Minute

// Leaving is the use case of merchants that leave.
type Leaving struct {
	*base.Base
	Parts
	keep time.Duration
}

// Parts are the use cases that Leaving calls.
type Parts struct {
	Onboarding *merchants.Onboarding
	Links      *people.Links
	Team       *people.Team
	Plans      *plans.Plans
	Payouts    *payouts.Payouts
	Wallets    *payouts.Wallets
	Webhooks   *webhooks.Webhooks
	Privacy    *privacy.Privacy
	Mails      *mails.Mails
	Keys       *auth.Keys
	Access     *auth.Access
}

// New returns the Leaving of a service. keep is how long personal data is kept; 0: for ever.
func New(b *base.Base, p Parts, keep time.Duration) *Leaving { return &Leaving{b, p, keep} }

// Close closes a merchant (LEAVE-1): nothing new begins, and its invitations are withdrawn.
//
// Errors: store.ErrNotFound, invalid_request, conflict_state for a merchant that is closed.
func (l *Leaving) Close(ctx context.Context, by audit.Actor, id, reason string) (tenants.Merchant, error) {
	m, err := l.Onboarding.Close(ctx, by, id, reason)
	if err != nil {
		return m, err
	}
	invited, err := l.Store.Links().Invitations(ctx, id, l.Now())
	for _, one := range invited {
		if failed := l.Links.Withdraw(ctx, by, "", id, one.ID); !errors.Is(failed, store.ErrNotFound) { // or it was used meanwhile
			err = errors.Join(err, failed)
		}
	}
	return m, err
}

// Rest is what a merchant that leaves still has in an environment.
type Rest struct {
	Payments int64 // that have not ended
	Claims   int64 // that are open
	Balances ledger.Balances
	Waits    string // why the balance is not paid out now; "": there is none, or it is on its way
}

// Words of Rest.Waits.
const (
	WaitsOpen     = "open"     // payments, claims or unsettled money can still change it
	WaitsMinimum  = "minimum"  // the rest is less than a withdrawal may be
	WaitsNegative = "negative" // the merchant owes it
	WaitsReserve  = "reserve"  // the rest is reserved until its time
	WaitsWallet   = "wallet"   // no wallet takes it
)

// Part is a part of the balance, by the name of its account.
type Part struct {
	Account string
	Amount  money.Amount
}

// owned are the accounts that are the merchant's.
var owned = []ledger.Account{ledger.Pending, ledger.Available, ledger.Frozen, ledger.Reserve, ledger.Suspense, ledger.InTransit}

// Parts are the parts of the balance.
func (r Rest) Parts() (list []Part) {
	for _, account := range owned {
		list = append(list, Part{string(account), money.New(r.Balances[account], money.USD)})
	}
	return list
}

// Empty reports whether nothing is left that could change or be paid.
func (r Rest) Empty() bool {
	for _, account := range owned {
		if r.Balances[account] != 0 {
			return false
		}
	}
	return r.Payments == 0 && r.Claims == 0
}

// Rest reads what is left of a merchant in an environment.
//
// Errors: store.ErrNotFound.
func (l *Leaving) Rest(ctx context.Context, m tenants.Merchant, live bool) (r Rest, err error) {
	shops, err := l.Store.Merchants().Shops(ctx, m.ID)
	if err != nil {
		return r, err
	}
	for _, shop := range shops {
		scope := tenants.Scope{Merchant: m.ID, Shop: shop.ID, Live: live}
		for _, status := range []pay.Status{pay.Processing, pay.Pending} {
			n, err := l.Store.Payments().Count(ctx, scope, lists.PaymentFilter{Status: status})
			if err != nil {
				return r, err
			}
			r.Payments += n
		}
		for _, status := range []pay.ClaimStatus{pay.ClaimPending, pay.ClaimNeedsEvidence, pay.ClaimUnderReview} {
			_, n, err := l.Store.Claims().List(ctx, scope, lists.ClaimFilter{Status: status})
			if err != nil {
				return r, err
			}
			r.Claims += n
		}
	}
	if r.Balances, err = l.Store.Books().Balances(ctx, tenants.Scope{Merchant: m.ID, Live: live}); err != nil {
		return r, err
	}
	terms, err := l.Plans.Terms(ctx, tenants.Scope{Merchant: m.ID, Live: live}, m)
	switch available := r.Balances[ledger.Available]; {
	case err != nil:
	case r.Payments+r.Claims > 0 || r.Balances[ledger.Pending] != 0 || r.Balances[ledger.Frozen] != 0:
		r.Waits = WaitsOpen
	case available < 0:
		r.Waits = WaitsNegative
	case available > 0 && available < terms.LeastWithdrawal():
		r.Waits = WaitsMinimum
	case available == 0 && r.Balances[ledger.Reserve] > 0:
		r.Waits = WaitsReserve
	case available > 0 && len(shops) > 0:
		_, err = l.Store.Wallets().Default(ctx, tenants.Scope{Merchant: m.ID, Shop: shops[0].ID, Live: live})
		if errors.Is(err, store.ErrNotFound) {
			r.Waits, err = WaitsWallet, nil
		}
	}
	return r, err
}

// page is how many merchants are read at a time.
const page = 100

// List lists all merchants that are closed, until all that is only their own was removed.
func (l *Leaving) List(ctx context.Context) (all []tenants.Merchant, err error) {
	for after, more := "", true; more; {
		list, err := l.Store.Merchants().Leaving(ctx, after, page)
		if err != nil {
			return nil, err
		}
		if all, more = append(all, list...), len(list) == page; more {
			after = list[len(list)-1].ID
		}
	}
	return all, nil
}

// Step takes all merchants that leave as far as they can go now. One that fails does not stop the others.
func (l *Leaving) Step(ctx context.Context) error {
	list, err := l.List(ctx)
	failures := []error{err}
	for _, m := range list {
		if err := l.advance(ctx, m); err != nil {
			failures = append(failures, fmt.Errorf("merchant %s, which leaves: %w", m.ID, err))
		}
	}
	return errors.Join(failures...)
}

// advance takes a merchant that leaves as far as it can go now.
func (l *Leaving) advance(ctx context.Context, m tenants.Merchant) error {
	if l.MayMoveMoney() != nil { // the database was restored, and is not open yet
		return nil
	}
	if m.Leaving.Erased() { // the clean-up stopped in between
		return l.clean(ctx, m)
	}
	played := l.advanceSandbox(ctx, m) // holds nothing up: no money that anybody waits for is in it
	return errors.Join(played, l.advanceLive(ctx, m))
}

// advanceSandbox pays out what a merchant has in its sandbox, unless that is being emptied or is switched off.
func (l *Leaving) advanceSandbox(ctx context.Context, m tenants.Merchant) error {
	err := l.Sandboxes.MayEnter(ctx, tenants.Scope{Merchant: m.ID})
	if _, closed := errors.AsType[*problem.Error](err); closed {
		return nil
	}
	if err == nil {
		_, err = l.settle(ctx, m, false)
	}
	return err
}

// settle pays out what is available in an environment, and reports whether nothing was left before.
func (l *Leaving) settle(ctx context.Context, m tenants.Merchant, live bool) (empty bool, err error) {
	r, err := l.Rest(ctx, m, live)
	if err != nil || r.Waits != "" || r.Balances[ledger.Available] <= 0 {
		return r.Empty(), err
	}
	return false, l.payOut(ctx, m, live, r.Balances[ledger.Available])
}

// advanceLive pays out what a merchant has in production, and erases it if there is nothing left, its retention is over, and its owners heard of
// it in time.
func (l *Leaving) advanceLive(ctx context.Context, m tenants.Merchant) error {
	empty, err := l.settle(ctx, m, true)
	switch {
	case err != nil:
		return err
	case !empty && m.Leaving.EmptiedAt.IsZero():
		return nil
	case !empty: // such as a payout that came back
		return l.record(ctx, m.Emptied(time.Time{}))
	case m.Leaving.EmptiedAt.IsZero():
		return l.recordEmptied(ctx, m)
	}
	from, err := l.erasableFrom(ctx, m)
	now := l.Now()
	if err != nil || from.IsZero() || now.Before(from.Add(-tenants.ErasureNotice)) {
		return err
	}
	if m.Leaving.WarnedAt.IsZero() {
		from = later(from, now.Add(tenants.ErasureNotice))
		return l.record(ctx, m.Warned(now), func(change *pay.Change, m tenants.Merchant) error {
			return l.Mails.AddLeavingAlerts(ctx, change, m, news.MerchantErasing, from)
		})
	}
	if now.Before(from) || now.Before(m.Leaving.WarnedAt.Add(tenants.ErasureNotice)) {
		return nil
	}
	if m, err := l.Onboarding.Erase(ctx, l.bySystem(), m); err != nil || !m.Leaving.Erased() { // the merchant was opened again meanwhile
		return err
	}
	if m, err = l.AnyMerchant(ctx, m.ID); err != nil {
		return err
	}
	return l.clean(ctx, m)
}

// recordEmptied records that nothing is left of a merchant in production. If anything was ever paid out, its owners hear that this was the last.
func (l *Leaving) recordEmptied(ctx context.Context, m tenants.Merchant) error {
	have, err := l.Store.Books().Balances(ctx, tenants.Scope{Merchant: m.ID, Live: true})
	if err != nil {
		return err
	}
	if have[ledger.PaidOut] == 0 {
		return l.record(ctx, m.Emptied(l.Now()))
	}
	return l.record(ctx, m.Emptied(l.Now()), func(change *pay.Change, m tenants.Merchant) error {
		return l.Mails.AddLeavingAlerts(ctx, change, m, news.MerchantPaidOut, time.Time{})
	})
}

// record writes a step of a merchant on its way out. If it changed since it was read, nothing is written: it may have been opened.
func (l *Leaving) record(ctx context.Context, next tenants.Merchant, with ...func(*pay.Change, tenants.Merchant) error) error {
	change := pay.Change{Merchants: []tenants.Merchant{next}}
	for _, add := range with {
		if err := add(&change, next); err != nil {
			return err
		}
	}
	return base.UnlessStale(l.Store.Commit(ctx, change))
}

// bySystem is the service itself.
func (*Leaving) bySystem() audit.Actor { return audit.Actor{Kind: audit.BySystem} }

// erasesAfter is how old the last payment and the last withdrawal of a merchant are before it is erased, whatever the retention is: disputes
// of cards, refunds by banks and returned payouts come up to so long afterwards, and need its people, keys and wallet.
const erasesAfter = 180 * 24 * time.Hour

// erasableFrom is when the retention of a closed merchant is over, and its last payment and withdrawal in production are erasesAfter old. It is
// zero if nothing is ever erased.
func (l *Leaving) erasableFrom(ctx context.Context, m tenants.Merchant) (from time.Time, err error) {
	if l.keep <= 0 {
		return from, nil
	}
	from = m.Leaving.ClosedAt.Add(l.keep)
	shops, err := l.Store.Merchants().Shops(ctx, m.ID)
	if err != nil {
		return from, err
	}
	newest := lists.Page{Limit: 1}
	for _, shop := range shops {
		scope := tenants.Scope{Merchant: m.ID, Shop: shop.ID, Live: true}
		payments, err := l.Store.Payments().List(ctx, scope, lists.PaymentFilter{Page: newest})
		if err != nil {
			return from, err
		}
		withdrawals, _, err := l.Store.Withdrawals().List(ctx, scope, lists.WithdrawalFilter{Page: newest})
		if err != nil {
			return from, err
		}
		for _, p := range payments {
			from = later(from, p.Times.Created.Add(erasesAfter))
		}
		for _, w := range withdrawals {
			from = later(from, w.CreatedAt.Add(erasesAfter))
		}
	}
	return from, nil
}

// later is the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Owing lists the merchants that were erased and have a balance again, such as one that a late dispute made negative.
func (l *Leaving) Owing(ctx context.Context) (all []tenants.Merchant, err error) {
	for before, more := "", true; more; {
		list, err := l.Store.Merchants().Find(ctx, "", before, page)
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			if before = m.ID; m.Leaving.GoneAt.IsZero() { // List has it
				continue
			}
			r, err := l.Rest(ctx, m, true)
			if err != nil {
				return nil, err
			}
			if !r.Empty() {
				all = append(all, m)
			}
		}
		more = len(list) == page
	}
	return all, nil
}

// payOut withdraws all that is available to the wallet of the merchant's first shop. What refuses it, such as a missing wallet, is for a
// person: it is on the operator's page.
func (l *Leaving) payOut(ctx context.Context, m tenants.Merchant, live bool, amount int64) error {
	if l.RecoveryState.Load().Active(l.Now()) { // its earlier payout may be unknown
		return nil
	}
	m, err := l.AnyMerchant(ctx, m.ID) // the merchant may have been opened or paused since it was listed
	if err != nil || !m.Leaving.Closed() || m.Paused != "" {
		return err
	}
	shops, err := l.Store.Merchants().Shops(ctx, m.ID)
	if err != nil || len(shops) == 0 {
		return err
	}
	scope := tenants.Scope{Merchant: m.ID, Shop: shops[0].ID, Live: live}
	_, err = payouts.PayOff(ctx, l.Payouts, scope, m, money.New(amount, money.USD))
	if _, refused := errors.AsType[*problem.Error](err); refused {
		l.Quiet.WarnSometimes(ctx, "the balance of a merchant that leaves waits", m.ID, "merchant", m.ID, "live", live, "reason", err)
		return nil
	}
	if errors.Is(err, store.ErrInsufficient) { // a claim or another withdrawal took it meanwhile
		return nil
	}
	return base.UnlessStale(err)
}

// clean removes what only a merchant that was erased had: its keys, logins, webhooks, the destinations of its wallets, and its users' roles
// (LEAVE-4, LEAVE-6). Shoppers' data was erased by the retention before: all payments are older than the closing. A repeat goes on where it
// stopped, and the merchant is listed until all is gone.
func (l *Leaving) clean(ctx context.Context, m tenants.Merchant) error {
	by := l.bySystem()
	keys, err := l.Store.Keys().List(ctx, m.ID)
	if err != nil {
		return err
	}
	for _, k := range keys {
		if !k.Over(l.Now()) {
			if _, err := l.Keys.Revoke(ctx, by, k.ID); err != nil {
				return err
			}
		}
	}
	if _, err := l.Access.RevokeLogins(ctx, by, m.ID, "", "the merchant has left"); err != nil {
		return err
	}
	if err := l.Team.Disband(ctx, by, m.ID); err != nil {
		return err
	}
	shops, err := l.Store.Merchants().Shops(ctx, m.ID)
	if err != nil {
		return err
	}
	all := true
	for _, shop := range shops {
		for _, live := range []bool{true, false} {
			gone, err := l.eraseShop(ctx, tenants.Scope{Merchant: m.ID, Shop: shop.ID, Live: live})
			if err != nil {
				return err
			}
			all = all && gone
		}
	}
	if m, err = l.AnyMerchant(ctx, m.ID); err != nil || !all {
		return err
	}
	return base.UnlessStale(l.Store.Commit(ctx, pay.Change{Merchants: []tenants.Merchant{m.Gone(l.Now())}}))
}

// eraseShop deletes the endpoints of a shop, and the destinations of all of its wallets, also of those that were disabled long ago. It
// reports false while a withdrawal is under way to one of them.
func (l *Leaving) eraseShop(ctx context.Context, scope tenants.Scope) (all bool, err error) {
	by := l.bySystem()
	for more := true; more; {
		endpoints, _, err := l.Store.Subscriptions().List(ctx, scope, lists.Page{Limit: page})
		if err != nil {
			return false, err
		}
		for _, e := range endpoints {
			if err := l.Webhooks.Unsubscribe(ctx, by, scope, e.ID); err != nil {
				return false, err
			}
		}
		more = len(endpoints) == page
	}
	all = true
	for at, more := (lists.Page{Limit: page}), true; more; {
		wallets, _, err := l.Store.Wallets().List(ctx, scope, "", at)
		if err != nil {
			return false, err
		}
		for _, w := range wallets {
			if at.After = w.ID; w.Erased() {
				continue
			}
			if err := l.Wallets.Delete(ctx, by, scope, w.ID); err != nil {
				return false, err
			}
			erased, err := l.Privacy.EraseWallet(ctx, scope, w.ID)
			if err != nil {
				return false, err
			}
			all = all && erased
		}
		more = len(wallets) == page
	}
	return all, nil
}
