package settlements

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	appplans "github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/plans"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/work"
)

// Settlements has the merchants' money: balances, movements, settlements and reserves.
type Settlements struct {
	*base.Base
	plans     *appplans.Plans
	payouts   *payouts.Payouts
	movements work.Turns // by merchant: lists of movements, if it has several shops
	drawing   work.Turns // one receipt at a time: one with Chinese letters takes 100 MB for a moment
}

// New returns the Settlements of a service.
func New(b *base.Base, pl *appplans.Plans, po *payouts.Payouts) *Settlements {
	return &Settlements{Base: b, plans: pl, payouts: po}
}

const (
	// MovementsShown is how many movements the balance shows (BAL-4).
	MovementsShown = 50
	// daysHeld is more than the days on which reserve can be held at a time.
	daysHeld = plans.MaxReserveDays + 30
	// movementsLookedAt is how many transfers are searched for the movements of a shop with
	// siblings.
	movementsLookedAt = 1000
	// FeePeriod is the period of the summary of fees.
	FeePeriod = 90 * 24 * time.Hour
)

// Balance is everything that the balance resource shows (BAL-1, BAL-4).
type Balance struct {
	Balances   ledger.Balances
	Period     ledger.Balances // what the last 90 days added to each account
	Movements  []pay.Movement
	Releases   []pay.Reserve // the next days of the reserve, each with what is left of it
	Mismatched store.Mismatched
	Drift      store.Drifted // from the providers' reports
	Now        time.Time     // in the merchant's clock
}

// Story describes for people what moved a merchant's money in a period; see [store.Store.MerchantStory].
func (se *Settlements) Story(ctx context.Context, scope merchants.Scope, period lists.Span, each bool) (string, error) {
	return se.Store.MerchantStory(ctx, scope, period, each)
}

// Balance reads a merchant's balance in an environment.
func (se *Settlements) Balance(ctx context.Context, scope merchants.Scope) (acc Balance, err error) {
	acc.Now = se.TimeOf(scope)
	if acc.Balances, err = se.Store.Books().Balances(ctx, scope); err != nil {
		return acc, err
	}
	if acc.Period, err = se.period(ctx, scope, acc.Balances, acc.Now); err != nil {
		return acc, err
	}
	if acc.Movements, err = se.newestMovements(ctx, scope); err != nil {
		return acc, err
	}
	if acc.Releases, err = se.releases(ctx, scope, acc.Balances[ledger.Reserve], pay.ReleasesShown); err != nil {
		return acc, err
	}
	if acc.Mismatched, err = se.Store.Notices().Mismatched(ctx, scope); err != nil {
		return acc, err
	}
	acc.Drift, err = se.Store.Reconciliations().Drift(ctx, scope)
	return acc, err
}

// period is what the last 90 days added to each account: the balances less the sums that
// settlements had collected before that time.
func (se *Settlements) period(ctx context.Context, scope merchants.Scope, have ledger.Balances, now time.Time) (ledger.Balances, error) {
	period := maps.Clone(have)
	old, err := se.Store.Settlements().SettledBefore(ctx, scope, now.Add(-FeePeriod))
	if errors.Is(err, store.ErrNotFound) {
		return period, nil
	}
	for account, amount := range old.Sums {
		period[account] -= amount
	}
	return period, err
}

// ReserveCalendar lists all days on which reserve is released, next first, with what is left of each, and the
// reserve itself in USD cents. The reserve may be more than the sum of the days while payments of today are
// not settled.
func (se *Settlements) ReserveCalendar(ctx context.Context, scope merchants.Scope) ([]pay.Reserve, int64, error) {
	balances, err := se.Store.Books().Balances(ctx, scope)
	if err != nil {
		return nil, 0, err
	}
	days, err := se.releases(ctx, scope, balances[ledger.Reserve], daysHeld)
	return days, balances[ledger.Reserve], err
}

// releases are the next days whose reserve is released, and what is left of each, less the refunds
// that no settlement has collected yet.
func (se *Settlements) releases(ctx context.Context, scope merchants.Scope, reserve int64, shown int) ([]pay.Reserve, error) {
	if reserve == 0 {
		return nil, nil
	}
	// More are read than shown: refunds may have taken a whole day, and the newest day may be
	// settled in part.
	read := shown + 7
	m, err := se.Store.Merchants().Get(ctx, scope.Merchant)
	if err != nil {
		return nil, err
	}
	var list []pay.Reserve
	var unsettled map[time.Time]int64
	err = se.betweenSettlements(ctx, scope, func(open pay.Settlement) (err error) {
		if list, err = se.Store.Reserves().Next(ctx, scope, read); err != nil {
			return err
		}
		// With reserves of other lengths, what is captured now may be released before what was captured earlier.
		captures := len(list) < read || se.plans.Book().LongestReserve(m) != merchants.DefaultReserveDays
		unsettled, err = se.Store.Reserves().Unsettled(ctx, scope, se.lookFrom(open, m), captures)
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Held += unsettled[list[i].Day]
		delete(unsettled, list[i].Day)
	}
	for day, amount := range unsettled {
		list = append(list, pay.Reserve{Day: day, ReleaseAt: pay.ReleaseOf(day), Held: amount})
	}
	list = slices.DeleteFunc(list, func(v pay.Reserve) bool { return v.Remaining() <= 0 })
	slices.SortFunc(list, func(a, b pay.Reserve) int { return a.ReleaseAt.Compare(b.ReleaseAt) })
	return list[:min(len(list), shown)], nil
}

// readsBetween is how often a balance is read again because a settlement was closed meanwhile.
const readsBetween = 8

// betweenSettlements calls read with the open settlement, and repeats it if a settlement was closed
// meanwhile. Otherwise the amounts that it collected would be read twice, or not at all.
func (se *Settlements) betweenSettlements(ctx context.Context, scope merchants.Scope, read func(open pay.Settlement) error) error {
	look := func() (pay.Settlement, error) {
		open, err := se.Store.Settlements().Open(ctx, scope)
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return open, err
	}
	open, err := look()
	for tries := 0; err == nil; tries++ {
		if err = read(open); err != nil {
			break
		}
		before := open
		if open, err = look(); open.ID == before.ID && open.Version == before.Version || tries == readsBetween {
			break
		}
	}
	return err
}

// Movements lists the movements of a merchant's balances, newest first, with their number. A shop
// with siblings does not see theirs.
func (se *Settlements) Movements(ctx context.Context, scope merchants.Scope, page lists.Page) (list []pay.Movement, total int64, err error) {
	siblings, err := se.siblings(ctx, scope)
	if err != nil {
		return nil, 0, err
	}
	if siblings { // all movements must be read to know which are the shop's: one request at a time
		done, err := se.movements.Lock(ctx, scope.Merchant)
		if err != nil {
			return nil, 0, err
		}
		defer done()
		if list, total, err = se.Store.Books().ShopMovements(ctx, scope, page, math.MaxInt32); err != nil {
			return nil, 0, base.OrNotBehind(err)
		}
		return list, total, se.explain(ctx, list, siblings)
	}
	if list, total, err = se.Store.Books().Movements(ctx, scope, page); err != nil {
		return nil, 0, base.OrNotBehind(err)
	}
	return list, total, se.explain(ctx, list, siblings)
}

// explain adds the reasons and notes of adjustments to movements. A shop with siblings does not see what an adjustment is
// about: it may be a sibling's payment.
func (se *Settlements) explain(ctx context.Context, list []pay.Movement, siblings bool) error {
	var ids []string
	for _, m := range list {
		if m.Adjustment != "" {
			ids = append(ids, m.Adjustment)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	known, err := se.Store.Adjustments().ByID(ctx, ids)
	for i, m := range list {
		if a, ok := known[m.Adjustment]; ok {
			if siblings {
				a.About = ""
			}
			list[i] = m.Explained(a)
		}
	}
	return err
}

// FindMovements lists the movements of a type and time, newest first, without the running balance. A shop
// with siblings does not see theirs.
func (se *Settlements) FindMovements(ctx context.Context, scope merchants.Scope, f lists.MovementFilter) (store.FoundMovements, error) {
	siblings, err := se.siblings(ctx, scope)
	if err != nil {
		return store.FoundMovements{}, err
	}
	found, err := se.Store.Books().Find(ctx, scope, f, siblings)
	if err != nil {
		return found, err
	}
	return found, se.explain(ctx, found.Movements, siblings)
}

// EachMovement calls each with all movements, newest first, and tells whether BalanceAfter is set. It is
// set if nothing is left out: without a filter, for a merchant's only shop.
func (se *Settlements) EachMovement(ctx context.Context, scope merchants.Scope, f lists.MovementFilter, each func(m pay.Movement, balance bool) error) error {
	siblings, err := se.siblings(ctx, scope)
	if err != nil {
		return err
	}
	whole := !siblings && f.Type == "" && f.To.IsZero()
	var balances ledger.Balances
	f.Limit = reportPage
	for {
		found, err := se.Store.Books().Find(ctx, scope, f, siblings)
		if err != nil {
			return err
		}
		if err := se.explain(ctx, found.Movements, siblings); err != nil {
			return err
		}
		if balances == nil {
			balances = found.Now
		}
		for _, m := range found.Movements {
			if whole {
				m.BalanceAfter = balances[m.Bucket]
				balances[m.Bucket] -= m.Amount
			}
			if err := each(m, whole); err != nil {
				return err
			}
		}
		if found.Next == (lists.MovementPlace{}) {
			return nil
		}
		f.After = found.Next
	}
}

// newestMovements are the movements that the balance shows. For a shop with siblings there may be
// fewer.
func (se *Settlements) newestMovements(ctx context.Context, scope merchants.Scope) ([]pay.Movement, error) {
	siblings, err := se.siblings(ctx, scope)
	if err != nil {
		return nil, err
	}
	if siblings {
		list, _, err := se.Store.Books().ShopMovements(ctx, scope, lists.Page{Limit: MovementsShown}, movementsLookedAt)
		return list, cmp.Or(err, se.explain(ctx, list, siblings))
	}
	list, _, err := se.Store.Books().Movements(ctx, scope, lists.Page{Limit: MovementsShown})
	return list, cmp.Or(err, se.explain(ctx, list, siblings))
}

// siblings reports whether the scope is a shop whose merchant has other shops.
func (se *Settlements) siblings(ctx context.Context, scope merchants.Scope) (bool, error) {
	if scope.Shop == "" {
		return false, nil
	}
	shops, err := se.Store.Merchants().Shops(ctx, scope.Merchant)
	return len(shops) > 1, err
}

// Available reads a merchant's available balance in an environment, in USD cents; below zero it is a debt.
func (se *Settlements) Available(ctx context.Context, scope merchants.Scope) (int64, error) {
	have, err := se.Balances(ctx, scope)
	return have[ledger.Available], err
}

// Balances reads a merchant's balances in an environment.
func (se *Settlements) Balances(ctx context.Context, scope merchants.Scope) (ledger.Balances, error) {
	return se.Store.Books().Balances(ctx, scope)
}
