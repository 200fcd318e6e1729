package payouts

import (
	"context"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/ledger"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// SettlePayout takes the next step of a closed settlement that has its receipt: what was paid or is owed by other settlements covers
// it, and if automatic payouts were agreed, what is there of the rest is withdrawn. The withdrawal is made in one commit with the
// settlements that it covers, so nothing is paid out twice. The newest settlement that is owed looks for all (SETTLE-9).
func (po *Payouts) SettlePayout(ctx context.Context, id string, scope merchants.Scope) error {
	if err := po.cover(ctx, scope); err != nil {
		return err
	}
	now := po.TimeOf(scope)
	s, err := po.Store.Settlements().Any(ctx, id)
	if err != nil {
		return err
	}
	list, err := po.Store.Settlements().Uncovered(ctx, scope)
	if err != nil {
		return err
	}
	made, err := po.Store.Withdrawals().Uncovering(ctx, scope)
	if err != nil {
		return err
	}
	agreed, err := Agreed(ctx, po, scope)
	if err != nil {
		return err
	}
	owed, of := pay.Owed(list, made)
	var newest pay.Settlement
	if len(of) > 0 {
		newest = of[len(of)-1]
	}
	if !agreed.Automatic {
		return po.Commit(ctx, s.ByHand(newest, now), view.Cause{})
	}
	if newest.ID != s.ID {
		return po.Commit(ctx, s.Rested(newest, now), view.Cause{})
	}
	return po.payAutomatically(ctx, s, agreed, owed, of)
}

// payAutomatically withdraws what is there of what is owed of settlements, the newest of which is s. It never waits for money that
// open claims hold, which is not available.
func (po *Payouts) payAutomatically(ctx context.Context, s pay.Settlement, agreed merchants.Payouts, owed int64, of []pay.Settlement) error {
	now := po.TimeOf(s.Scope)
	merchant, err := po.Store.Merchants().Get(ctx, s.Merchant)
	if err != nil {
		return err
	}
	have, err := po.Store.Books().Balances(ctx, s.Scope)
	if err != nil {
		return err
	}
	terms, err := po.plans.Terms(ctx, s.Scope, merchant)
	if err != nil {
		return err
	}
	least := max(terms.LeastWithdrawal(), agreed.Minimum)
	amount := min(owed, have[ledger.Available])
	switch {
	case owed < least:
		return po.Commit(ctx, s.Unpaid(pay.WaitsMinimum, now), view.Cause{})
	case amount < least:
		return po.Commit(ctx, s.Unpaid(pay.WaitsMoney, now), view.Cause{})
	case merchant.MayWithdraw(s.Live) != nil:
		return po.Commit(ctx, s.Unpaid(pay.WaitsPause, now), view.Cause{})
	case !agreed.Days.Has(now):
		return po.Commit(ctx, s.Unpaid(pay.WaitsDay, now), view.Cause{})
	}
	shops, err := po.Store.Merchants().Shops(ctx, s.Merchant)
	if err != nil {
		return err
	}
	// A withdrawal or a claim may take the money in the meantime: then the next look pays what is left.
	_, err = po.withdrawOnce(ctx, po.Self(), merchants.Scope{Merchant: s.Merchant, Shop: shops[0].ID, Live: s.Live}, merchant, NewWithdrawal{
		Amount: money.New(amount, money.USD), Mark: base.MarkAbout(po.Vault, "automatic|"+s.ID),
		With: func(w pay.Withdrawal) (pay.Withdrawal, []pay.Settlement) { return w.PayOff(of, now) },
	})
	if errors.Is(err, store.ErrInsufficient) {
		return fmt.Errorf("the money was taken meanwhile: %w", store.ErrStale)
	}
	refused, ok := errors.AsType[*problem.Error](err)
	if !ok {
		return err
	}
	why := pay.Unpayable(refused.Details.Reason)
	if why == "" {
		why = pay.Unpayable(refused.Code)
	}
	if refused.Code == problem.MissingField {
		why = pay.WaitsWallet
	}
	po.Quiet.WarnSometimes(ctx, "the payout of a settlement waits", s.ID, "settlement", s.ID, "reason", why)
	return base.UnlessStale(po.Commit(ctx, s.Unpaid(why, now), view.Cause{}))
}

// PayOff withdraws an amount to the shop's default wallet by itself, for a merchant that leaves. The settlements that it pays are found as
// those of any withdrawal.
//
// Errors: those of Withdraw, store.ErrInsufficient.
func PayOff(ctx context.Context, po *Payouts, scope merchants.Scope, m merchants.Merchant, amount money.Amount) (pay.Withdrawal, error) {
	if err := m.MayWithdraw(scope.Live); err != nil {
		return pay.Withdrawal{}, err
	}
	mark := base.MarkAbout(po.Vault, "leaving|"+string(scope.Environment())+"|"+m.ID+"|"+amount.String())
	return po.withdrawOnce(ctx, po.Self(), scope, m, NewWithdrawal{Amount: amount, Mark: mark})
}
