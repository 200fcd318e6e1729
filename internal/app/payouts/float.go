package payouts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
)

// FloatsEvery is how often the balances of payout accounts are compared with the ledger.
const FloatsEvery = 5 * time.Minute

const (
	// balanceWidth is how many accounts are asked for their balance at the same time.
	balanceWidth = 8
	// balancesTime is how long all of them may take: the console waits for the list.
	balancesTime = 2 * pay.CallTimeout
)

// Floats is the operator's own money at payout accounts.
type Floats struct {
	*base.Base
	providers *accounts.Providers
	seen      atomic.Pointer[[]FloatStatus]
}

// NewFloats returns the floats of a service.
func NewFloats(b *base.Base, providers *accounts.Providers) *Floats {
	return &Floats{Base: b, providers: providers}
}

// floats is the free amount of each float.
type floats map[floatKey]int64

type floatKey struct {
	account  string
	live     bool
	currency money.Currency
}

// free reads the free amount of each float; without due withdrawals it reads nothing.
func (fl *Floats) free(ctx context.Context, due int) (floats, error) {
	if due == 0 {
		return nil, nil
	}
	list, err := fl.Store.Books().Floats(ctx)
	have := make(floats, len(list))
	for _, f := range list {
		have[floatKey{f.Account, f.Live, f.Currency}] = f.Free
	}
	return have, err
}

// of returns what a withdrawal takes of an account's float, and what is free: of the float in the
// arriving currency, or else of the one in USD. Both are zero if neither float is kept.
func (f floats) of(account string, w pay.Withdrawal) (need, free money.Amount) {
	for _, need := range []money.Amount{w.Local, money.New(w.Net(), money.USD)} {
		if have, kept := f[floatKey{account, w.Live, need.Currency}]; kept && need.Minor > 0 {
			return need, money.New(have, need.Currency)
		}
	}
	return money.Amount{}, money.Amount{}
}

// tooLittle is the text for the operator if a float is too small.
func tooLittle(need, free money.Amount) string {
	return fmt.Sprintf("its float has %s, and this takes %s", free, need)
}

// FloatStatus is a float with the provider's balance.
type FloatStatus struct {
	pay.Float
	Balance money.Amount // as the provider reports it; zero if Unknown is not ""
	Off     money.Amount // difference to the ledger, see pay.Float.Off
	Unknown string       // why there is no balance to compare
}

// Units is an amount in units of the float's currency, for a gauge: not exact beyond 2^53 cents.
func (f FloatStatus) Units(minor int64) float64 {
	units, _ := strconv.ParseFloat(money.New(minor, f.Currency).Decimal(), 64) // money's output is always a number
	return units
}

// List lists the floats, and compares each with the provider's balance, if it can be queried.
func (fl *Floats) List(ctx context.Context) ([]FloatStatus, error) {
	list, err := fl.Store.Books().Floats(ctx)
	if err != nil {
		return nil, err
	}
	if err := fl.providers.ReadAccounts(ctx); err != nil {
		return nil, err
	}
	ctx, done := context.WithTimeout(ctx, balancesTime)
	defer done()
	told := make([]FloatStatus, len(list))
	var all errgroup.Group
	all.SetLimit(balanceWidth)
	for i, f := range list {
		told[i] = FloatStatus{Float: f}
		all.Go(func() error { fl.compare(ctx, &told[i]); return nil })
	}
	return told, all.Wait()
}

// compare queries the balance of a float's account.
func (fl *Floats) compare(ctx context.Context, f *FloatStatus) {
	d, known := fl.providers.Connector(f.Account)
	to, ok := d.Payouts.(provider.Balancer)
	switch {
	case !known:
		f.Unknown = "the account was removed"
		return
	case d.Broken != nil:
		f.Unknown = "it cannot be used: " + d.Broken.Error()
		return
	case !ok:
		f.Unknown = "it cannot be queried"
		return
	}
	ctx, cancel := context.WithTimeout(ctx, pay.CallTimeout)
	defer cancel()
	balance, err := to.Balance(ctx)
	switch {
	case err != nil:
		f.Unknown = err.Error()
	case balance.Currency != f.Currency:
		f.Unknown = "it reports its balance in " + string(balance.Currency)
	default:
		f.Balance, f.Off = balance, f.Float.Off(balance)
	}
}

// Compare compares the balances of payout accounts with the ledger, and keeps the result for
// the metrics.
func (fl *Floats) Compare(ctx context.Context) error {
	list, err := fl.List(ctx)
	if err != nil {
		return err
	}
	for _, f := range list {
		if f.Off.Minor != 0 {
			fl.Log.WarnContext(ctx, "the balance at a payout account is not what the ledger has: look at it", "account", f.Account, "environment", merchants.EnvironmentOf(f.Live),
				"balance", f.Balance, "free", money.New(f.Free, f.Currency), "committed", money.New(f.Committed, f.Currency))
		}
	}
	fl.seen.Store(&list)
	return nil
}

// Seen is the result of the last Compare.
func (fl *Floats) Seen() []FloatStatus {
	if list := fl.seen.Load(); list != nil {
		return *list
	}
	return nil
}

// Enter books money that the operator put into a payout account, or, below zero, took out or
// lost there. From the first entry on, the account's payouts in that currency are limited to the
// float. force allows a currency in which the account does not pay, and an amount below zero of
// more than is free.
//
// Errors: invalid_request; conflict_state if there is an entry with the reference; an error if
// there is no such payout account.
func (fl *Floats) Enter(ctx context.Context, by audit.Actor, account string, amount money.Amount, reference, note string, force bool) error {
	s, err := fl.providers.ProviderAccount(ctx, account)
	if err = cmp.Or(err, pay.FitNote(note)); err != nil {
		return err
	}
	if !s.PaysOut {
		return fmt.Errorf("%s takes payments: only an account that pays out can have a float", account)
	}
	pays := func(rail string) bool {
		_, currency, _ := strings.Cut(rail, ".")
		return currency == "*" || currency == string(amount.Currency)
	}
	if !force && amount.Currency != money.USD && !slices.ContainsFunc(s.On, pays) {
		return problem.Field(problem.InvalidRequest, "currency", accountPaysOtherwise.With(account, s.On, amount.Currency))
	}
	t, err := pay.EnterFloat(account, s.Live, amount, reference, fl.Now())
	if err != nil {
		return err
	}
	booked := &problem.Error{Code: problem.ConflictState, Param: "reference", Reason: floatBooked.With(reference)}
	known, err := fl.Store.Books().HasTransfer(ctx, t.ID)
	if err != nil {
		return err
	}
	if known {
		return booked
	}
	var floors []ledger.Floor
	if amount.IsNegative() && !force {
		floors = []ledger.Floor{{Merchant: t.Merchant, Live: t.Live, Account: ledger.Float}}
	}
	err = fl.Store.Commit(ctx, pay.Change{Transfers: []ledger.Transfer{t}, Floors: floors, Audit: fl.Noted(by, merchants.Scope{Live: s.Live}, audit.FloatEntered, account, note,
		map[string]string{"amount": amount.String(), "reference": reference, "transfer": t.ID})})
	if errors.Is(err, store.ErrInsufficient) {
		return problem.Field(problem.BalanceInsufficient, "amount", beyondFloat)
	}
	if known, readErr := fl.Store.Books().HasTransfer(ctx, t.ID); err != nil && known && readErr == nil {
		return booked // two entries at the same time
	}
	return err
}
