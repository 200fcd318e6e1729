package payouts

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/rates"
	"github.com/cascadapay/cascada/internal/printable"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// cover lets a merchant's withdrawals cover its settlements: those in ended, which have ended since the last time, and all
// others that cover less or more than they paid. It is done when a withdrawal has ended, and not when it is made, so withdrawals
// that are made at once do not wait for each other.
func (po *Payouts) cover(ctx context.Context, scope merchants.Scope, ended ...string) error {
	return base.Again(func() error {
		made, err := po.Store.Withdrawals().Uncovering(ctx, scope)
		if err != nil {
			return err
		}
		if len(ended) > 0 {
			more, err := po.Store.Withdrawals().ByID(ctx, ended)
			if err != nil {
				return err
			}
			for _, w := range more {
				if !slices.ContainsFunc(made, func(m pay.Withdrawal) bool { return m.ID == w.ID }) {
					made = append(made, w)
				}
			}
			slices.SortFunc(made, func(a, b pay.Withdrawal) int { return strings.Compare(a.ID, b.ID) })
		}
		list, err := po.Store.Settlements().Uncovered(ctx, scope)
		if err != nil {
			return err
		}
		var named []string
		for _, w := range made {
			for _, c := range w.Covers {
				if !slices.ContainsFunc(list, func(s pay.Settlement) bool { return s.ID == c.Settlement }) && !slices.Contains(named, c.Settlement) {
					named = append(named, c.Settlement)
				}
			}
		}
		if len(named) > 0 {
			more, err := po.Store.Settlements().ByID(ctx, named)
			if err != nil {
				return err
			}
			list = append(list, more...)
		}
		change := pay.Match(list, made, po.TimeOf(scope))
		if len(change.Settlements) == 0 && len(change.Withdrawals) == 0 {
			return nil
		}
		for _, s := range change.Settlements {
			if s.Status == pay.BatchPaid && s.PaidAt.Equal(s.UpdatedAt) {
				change.Audit = append(change.Audit, po.Audited(po.Self(), s.Scope, audit.SettlementPaid, s.ID, map[string]string{"withdrawals": strings.Join(s.Withdrawals(), " ")})...)
			}
		}
		return po.Commit(ctx, change, view.Cause{})
	})
}

// coverAll lets the withdrawals that have ended cover settlements, merchant by merchant.
func (po *Payouts) coverAll(ctx context.Context, ended []pay.Withdrawal) {
	of := map[merchants.Scope][]string{}
	var order []merchants.Scope
	for _, w := range ended {
		scope := merchants.Scope{Merchant: w.Merchant, Live: w.Live}
		if of[scope] == nil {
			order = append(order, scope)
		}
		of[scope] = append(of[scope], w.ID)
	}
	for _, scope := range order {
		if err := base.UnlessStale(po.cover(ctx, scope, of[scope]...)); err != nil && ctx.Err() == nil {
			po.Quiet.ComesAgain(ctx, scope.Live, "the withdrawals of a merchant do not cover its settlements yet; it is retried later", err, "merchant", scope.Merchant)
		}
	}
}

// HandPayment is a settlement's payout that the operator has made by hand.
type HandPayment struct {
	Settlement string
	Amount     money.Amount // USD; zero: all that is left to be paid
	Wallet     string       // "" for the default wallet of the merchant's first shop
	Reference  string       // the bank's name of the transfer
	Note       string       // for the audit log
}

// PaySettlement books that the operator has paid a settlement by hand: a withdrawal that is made and completed in one step
// (SETTLE-12). It takes the money from available, so nobody can pay it again.
//
// Errors: settlement_not_found, conflict_state, also if a transfer of this reference has paid a part of it,
// settlement_already_paid, invalid_request, balance_insufficient, missing_field if no
// wallet is named and there is no default, wallet_not_found.
func (po *Payouts) PaySettlement(ctx context.Context, by audit.Actor, n HandPayment) (paid pay.Settlement, made pay.Withdrawal, err error) {
	if n.Reference == "" || strings.ContainsFunc(n.Reference, printable.Unprintable) {
		return paid, made, problem.Field(problem.InvalidRequest, "reference", pay.ReferenceNotALine)
	}
	if err := cmp.Or(pay.FitNote(n.Note), po.MayMoveMoney()); err != nil {
		return paid, made, err
	}
	first, err := po.settlement(ctx, n.Settlement)
	if err != nil {
		return paid, made, err
	}
	if err := base.UnlessStale(po.cover(ctx, first.Scope)); err != nil {
		return paid, made, err
	}
	err = base.Again(func() error {
		s, err := po.settlement(ctx, n.Settlement)
		if err != nil {
			return err
		}
		change := pay.Change{}
		if paid, made, change, err = po.decideByHand(ctx, s, n); err != nil {
			return err
		}
		details := map[string]string{"amount": money.New(made.Amount, money.USD).String(), "withdrawal": made.ID, "wallet": made.Wallet, "reference": n.Reference}
		change.Audit = po.Noted(by, s.Scope, audit.SettlementPaid, s.ID, n.Note, details)
		return po.Commit(ctx, change, view.Cause{RequestID: by.Request})
	})
	return paid, made, err
}

func (po *Payouts) settlement(ctx context.Context, id string) (pay.Settlement, error) {
	s, err := po.Store.Settlements().Any(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return s, problem.New(problem.SettlementNotFound, base.NoSettlement)
	}
	return s, err
}

// decideByHand reads what a payment by hand depends on and decides.
func (po *Payouts) decideByHand(ctx context.Context, s pay.Settlement, n HandPayment) (pay.Settlement, pay.Withdrawal, pay.Change, error) {
	amount := cmp.Or(n.Amount.Minor, s.Uncovered())
	if err := s.MayPayOut(amount); err != nil {
		return s, pay.Withdrawal{}, pay.Change{}, err
	}
	if err := po.notBooked(ctx, s, n.Reference); err != nil {
		return s, pay.Withdrawal{}, pay.Change{}, err
	}
	wallet, err := po.walletByHand(ctx, s, n.Wallet)
	if err != nil {
		return s, pay.Withdrawal{}, pay.Change{}, err
	}
	have, err := po.Store.Books().Balances(ctx, s.Scope)
	if err != nil {
		return s, pay.Withdrawal{}, pay.Change{}, err
	}
	into, err := po.conversion(wallet, money.New(amount, money.USD))
	if _, refused := errors.AsType[*problem.Error](err); refused {
		into, err = rates.Conversion{}, nil // without a rate, the bank alone knows what arrived
	}
	if err != nil {
		return s, pay.Withdrawal{}, pay.Change{}, err
	}
	account := po.providers.ByHand(s.Live)
	float, err := po.floatFor(ctx, account, pay.Withdrawal{Amount: amount, Conversion: into, Scope: s.Scope})
	if err != nil {
		return s, pay.Withdrawal{}, pay.Change{}, err
	}
	now := po.TimeOf(s.Scope)
	route := pay.PayoutRoute{Account: account, Why: "the operator paid the settlement by hand", Float: float}
	return wallet.PayByHand(po.NewID(pay.WithdrawalPrefix, now), s, amount, route, n.Reference, into, have, now)
}

// notBooked returns an error if a settlement was already paid by a transfer of this reference: the operator repeats a command
// whose answer was lost. One transfer may pay several settlements.
//
// Errors: conflict_state (details.reason known).
func (po *Payouts) notBooked(ctx context.Context, s pay.Settlement, reference string) error {
	made, err := po.Store.Withdrawals().ByID(ctx, s.Withdrawals())
	if err != nil {
		return err
	}
	for _, w := range made {
		if w.Payout.BankRef == reference && w.Status == pay.WithdrawalDone {
			return problem.Conflict("known", transferKnown.With(reference, w.ID))
		}
	}
	return nil
}

// walletByHand is the wallet that a settlement was paid to by hand.
func (po *Payouts) walletByHand(ctx context.Context, s pay.Settlement, id string) (pay.Wallet, error) {
	shops, err := po.Store.Merchants().Shops(ctx, s.Merchant)
	if err != nil {
		return pay.Wallet{}, err
	}
	for _, shop := range shops {
		scope := merchants.Scope{Merchant: s.Merchant, Shop: shop.ID, Live: s.Live}
		if id == "" {
			usual, err := po.to.defaultWallet(ctx, scope)
			if err != nil {
				return pay.Wallet{}, err
			}
			if usual != nil {
				return *usual, nil
			}
			continue
		}
		w, err := po.Store.Wallets().Get(ctx, scope, id)
		if !errors.Is(err, store.ErrNotFound) {
			return w, err
		}
	}
	if id == "" {
		return pay.Wallet{}, &problem.Error{Code: problem.MissingField, Param: "walletId", Reason: noDefaultWallet,
			Details: problem.Details{MissingFields: []string{"walletId"}}}
	}
	return pay.Wallet{}, problem.Field(problem.WalletNotFound, "walletId", merchantLacksWallet.With(id))
}
