// Package payouts pays merchants: wallets, withdrawals, automatic payouts, the choice of the payout
// account, its float, and files for banks.
package payouts

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// NewWithdrawal is a request for a withdrawal.
type NewWithdrawal struct {
	Wallet      string       // "" for the shop's default wallet
	Amount      money.Amount // USD, the fee included; zero if Arrives says it
	Arrives     Arrives      // what is meant to arrive instead
	Idempotency base.Idempotency
	RequestID   string
	// Mark replaces the key's mark for withdrawals that the service makes itself.
	Mark base.Mark
	id   string // its id, if an account has it from before a restore
	// With returns the withdrawal with the settlements that it covers, which are written in the same commit; nil: none.
	With func(pay.Withdrawal) (pay.Withdrawal, []pay.Settlement)
}

// Arrives is an amount of a withdrawal in the payout's currency, the fee not included. Zero: none.
type Arrives struct {
	Currency string // as the wallet has it
	Text     string // JSON text, major units
}

// mark is the part of its ids that is derived from the request.
func (po *Payouts) mark(n NewWithdrawal, scope merchants.Scope) base.Mark {
	if n.Mark != "" {
		return n.Mark
	}
	return n.Idempotency.Mark(po.Vault, scope)
}

// Withdraw takes money out of the available balance and puts it on its way to a wallet. replayed:
// an earlier request with the same key had made the withdrawal, which is returned as the first
// reply showed it.
//
// Errors: kyc_required in production, wallet_not_found, missing_field if no wallet is named and
// there is no default, conflict_state for a wallet that cannot be paid to, service_unavailable if
// no payout provider is configured, amount_below_minimum, balance_insufficient,
// idempotency_conflict, forbidden if the merchant is paused.
func (po *Payouts) Withdraw(ctx context.Context, by base.Principal, scope merchants.Scope, n NewWithdrawal) (w pay.Withdrawal, replayed bool, err error) {
	merchant, _, err := po.Tenant(ctx, by)
	if err != nil {
		return w, false, err
	}
	err = base.Again(func() error {
		object, found, err := po.Earlier(ctx, scope, n.Idempotency)
		if err != nil {
			return err
		}
		if replayed = found; found {
			made, err := po.Store.Withdrawals().Get(ctx, scope, object)
			w = made.Created()
			return err
		}
		var made pay.Withdrawal
		if err = merchant.MayWithdraw(scope.Live); err == nil {
			made, err = po.withdrawOnce(ctx, by.Actor(), scope, merchant, n)
		}
		if _, refused := errors.AsType[*problem.Error](err); refused {
			// The same request may have come first, and be the reason for the error.
			if _, found, other := po.Earlier(ctx, scope, n.Idempotency); found || other != nil {
				return cmp.Or(other, store.ErrStale)
			}
		}
		if err == nil {
			w = made
		}
		return err
	})
	return w, replayed, err
}

// withdrawOnce decides and writes a withdrawal.
//
// Errors: those of Withdraw; store.ErrStale if the same request was first.
func (po *Payouts) withdrawOnce(ctx context.Context, by audit.Actor, scope merchants.Scope, m merchants.Merchant, n NewWithdrawal) (pay.Withdrawal, error) {
	if err := po.MayMoveMoney(); err != nil {
		return pay.Withdrawal{}, err
	}
	now := po.TimeOf(scope)
	terms, err := po.plans.Terms(ctx, scope, m)
	if err != nil {
		return pay.Withdrawal{}, err
	}
	made, change, err := po.openWithdrawal(ctx, scope, n, terms, now)
	if err != nil {
		return made, err
	}
	change.Audit = po.Audited(by, scope, audit.WithdrawalCreated, made.ID, map[string]string{"amount": n.Amount.String(), "wallet": made.Wallet})
	change.Once = n.Idempotency.Guard(scope, made.ID, now)
	if n.With != nil {
		made, change.Settlements = n.With(made)
		change.Withdrawals = []pay.Withdrawal{made}
	}
	err = po.Commit(ctx, change, view.Cause{RequestID: n.RequestID, IdempotencyKey: n.Idempotency.Key})
	if errors.Is(err, store.ErrDuplicate) {
		return made, store.ErrStale // the same request was first: read its withdrawal
	}
	return made, err
}

// decideWithdrawal reads what a withdrawal depends on and decides.
func (po *Payouts) decideWithdrawal(ctx context.Context, scope merchants.Scope, n NewWithdrawal, terms merchants.Terms, now time.Time) (pay.Withdrawal, pay.Change, error) {
	wallet, err := po.payee(ctx, scope, n.Wallet)
	if err != nil {
		return pay.Withdrawal{}, pay.Change{}, err
	}
	balances, err := po.Store.Books().Balances(ctx, scope)
	if err != nil {
		return pay.Withdrawal{}, pay.Change{}, err
	}
	arrives, err := n.Arrives.of(wallet)
	if err != nil {
		return pay.Withdrawal{}, pay.Change{}, err
	}
	net := money.New(max(0, n.Amount.Minor-terms.WithdrawalCost()), money.USD)
	into, unknown := po.agreed(ctx, wallet, net, arrives, now)
	if n.Arrives != (Arrives{}) {
		if unknown != nil { // without a rate nobody knows what it takes
			return pay.Withdrawal{}, pay.Change{}, unknown
		}
		n.Amount = money.New(into.net.Minor+terms.WithdrawalCost(), money.USD)
	}
	w, change, err := wallet.Withdraw(cmp.Or(n.id, po.MarkedID(pay.WithdrawalPrefix, now, po.mark(n, scope))), n.Amount, terms, into.Conversion, balances, now)
	if err = cmp.Or(err, unknown); err != nil {
		return w, change, err
	}
	_, _, err = po.choosePayer(wallet, w, nil, now)
	return w, change, err
}

// of reads the amount that is meant to arrive at a wallet. How much of a token arrives is decided by whoever pays it out, so that it can be
// promised of a currency alone.
//
// Errors: invalid_request, amount_invalid.
func (a Arrives) of(w pay.Wallet) (money.Amount, error) {
	if a == (Arrives{}) {
		return money.Amount{}, nil
	}
	currency := money.Currency(w.Currency)
	if w.Type == pay.Crypto || !currency.Valid() {
		return money.Amount{}, problem.Field(problem.InvalidRequest, "currency", tokenPaidInUSD)
	}
	if !strings.EqualFold(a.Currency, w.Currency) {
		return money.Amount{}, problem.Field(problem.InvalidRequest, "currency", walletPaidIn.With(w.Currency))
	}
	amount, err := money.Parse(a.Text, currency)
	if err != nil || !amount.IsPositive() {
		return amount, problem.Field(problem.AmountInvalid, "amount", arrivingAmountUnreadable.With(currency.Exponent(), w.Currency))
	}
	return amount, nil
}

// agreement is what a withdrawal converts to, and the USD that it takes without the fee.
type agreement struct {
	rates.Conversion
	net money.Amount
}

// agreed converts what a withdrawal takes, or what is meant to arrive, at today's rate; not at a better one than that of a withdrawal that
// was canceled a moment ago.
func (po *Payouts) agreed(ctx context.Context, w pay.Wallet, net, arrives money.Amount, now time.Time) (agreement, error) {
	into, err := po.conversion(w, net)
	if err != nil || into.Rate.IsZero() {
		return agreement{into, net}, err
	}
	canceled, err := po.Store.Withdrawals().Canceled(ctx, w.Scope, now.Add(-pay.CancelMemory))
	if err != nil {
		return agreement{into, net}, err
	}
	for range 2 { // the rate of a canceled one may take more
		if !arrives.IsZero() {
			if net, err = into.Rate.ChargedInUSD(arrives); err != nil {
				return agreement{into, net}, err
			}
		}
		if into, err = into.Reading().Into(net); err == nil {
			into, err = pay.NotBetter(into, net.Minor, canceled)
		}
		if err != nil {
			return agreement{into, net}, err
		}
	}
	if !arrives.IsZero() {
		into.Local = arrives // the rest of a cent is not paid out
	}
	return agreement{into, net}, nil
}

// Quote returns what a withdrawal of an amount would be now: its fee, the amount that arrives, or
// the error. Nothing is written.
//
// Errors: those of Withdraw.
func (po *Payouts) Quote(ctx context.Context, by base.Principal, scope merchants.Scope, n NewWithdrawal) (pay.Withdrawal, error) {
	merchant, _, err := po.Tenant(ctx, by)
	if err = cmp.Or(err, merchant.MayWithdraw(scope.Live)); err != nil {
		return pay.Withdrawal{}, err
	}
	terms, err := po.plans.Terms(ctx, scope, merchant)
	if err != nil {
		return pay.Withdrawal{}, err
	}
	w, _, err := po.decideWithdrawal(ctx, scope, n, terms, po.TimeOf(scope))
	return w, err
}

// payee is the wallet of a withdrawal.
func (po *Payouts) payee(ctx context.Context, scope merchants.Scope, id string) (pay.Wallet, error) {
	if err := po.requireKYC(ctx, scope, merchants.KYCBasic); err != nil {
		return pay.Wallet{}, err
	}
	var wallet pay.Wallet
	if id == "" {
		usual, err := po.to.defaultWallet(ctx, scope)
		if err != nil {
			return pay.Wallet{}, err
		}
		if usual == nil {
			return pay.Wallet{}, &problem.Error{Code: problem.MissingField, Param: "walletId", Reason: walletRequired,
				Details: problem.Details{MissingFields: []string{"walletId"}}}
		}
		wallet = *usual
	} else {
		var err error
		if wallet, err = po.to.Get(ctx, scope, id); err != nil {
			return wallet, err
		}
	}
	return wallet, nil
}

// requireKYC returns an error for a production merchant who is not verified.
func (po *Payouts) requireKYC(ctx context.Context, scope merchants.Scope, need merchants.KYCLevel) error {
	if !scope.Live {
		return nil
	}
	levels, err := po.Store.Verifications().Levels(ctx, scope)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(levels, func(l merchants.KYCLevel) bool { return l.Covers(need) }) {
		return nil
	}
	return &problem.Error{Code: problem.KYCRequired, Reason: verificationRequired.With(need),
		Details: problem.Details{HelpURL: po.CheckoutURL + "/kyc"}}
}

// Withdrawal reads one withdrawal of the shop.
//
// Errors: withdrawal_not_found, also for another shop's withdrawal.
func (po *Payouts) Withdrawal(ctx context.Context, scope merchants.Scope, id string) (pay.Withdrawal, error) {
	return base.Named(id, base.Missing(problem.WithdrawalNotFound, scope, id), func() (pay.Withdrawal, error) { return po.Store.Withdrawals().Get(ctx, scope, id) })
}

// Withdrawals lists a shop's withdrawals, newest first, with the number that the filter selects.
//
// Errors: invalid_request for an unknown cursor.
func (po *Payouts) Withdrawals(ctx context.Context, scope merchants.Scope, f lists.WithdrawalFilter) ([]pay.Withdrawal, int64, error) {
	if err := base.Behind(f.After, func() error {
		_, err := po.Store.Withdrawals().Get(ctx, scope, f.After)
		return err
	}); err != nil {
		return nil, 0, err
	}
	return po.Store.Withdrawals().List(ctx, scope, f)
}

// CancelWithdrawal returns the money of a withdrawal that was not sent yet.
//
// Errors: withdrawal_not_found, conflict_state; store.ErrNotProved: its money must not move.
func (po *Payouts) CancelWithdrawal(ctx context.Context, by base.Principal, scope merchants.Scope, id string) (pay.Withdrawal, error) {
	return base.Decide(func() (pay.Withdrawal, error) {
		w, err := po.Withdrawal(ctx, scope, id)
		if err != nil {
			return w, err
		}
		next, change, err := w.Cancel(po.TimeOf(scope))
		if err == nil {
			err = po.provedAsIs(ctx, w)
		}
		if err != nil {
			return w, err
		}
		change.Audit = po.Audited(by.Actor(), scope, audit.WithdrawalGivenUp, w.ID, nil)
		return next, po.Store.Commit(ctx, change)
	})
}

// Movements lists what a withdrawal moved of the merchant's balances, oldest first.
func (po *Payouts) Movements(ctx context.Context, w pay.Withdrawal) ([]pay.Movement, error) {
	first, after := w.Transfers()
	transfers, err := po.Store.Books().Between(ctx, w.Scope, first, after)
	var list []pay.Movement
	for _, t := range transfers {
		list = append(list, pay.Movements(t)...)
	}
	return list, err
}
