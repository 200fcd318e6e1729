package payouts

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/id"
	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/view"
)

// PayAutomatically takes the next step of a settlement's automatic payout. The withdrawal is made
// in one commit with the settlements that it pays, so nothing is paid out twice.
func (po *Payouts) PayAutomatically(ctx context.Context, s pay.Settlement) error {
	now := po.TimeOf(s.Scope)
	list, err := po.Store.Settlements().Unpaid(ctx, s.Scope)
	if err != nil {
		return err
	}
	if s.Payout != "" {
		w, err := po.Store.Withdrawals().Any(ctx, s.Payout)
		if err != nil {
			return err
		}
		change, err := pay.PayoutIs(w, list, now)
		if err != nil || len(change.Settlements) == 0 {
			return err
		}
		for _, paid := range change.Settlements {
			if paid.Status == pay.BatchPaid {
				change.Audit = append(change.Audit, po.Audited(po.Self(), paid.Scope, audit.SettlementPaid, paid.ID, map[string]string{"withdrawal": w.ID})...)
			}
		}
		return po.Commit(ctx, change, view.Cause{})
	}
	control, err := po.Control(ctx, s.Merchant, s.Live)
	if err != nil {
		return err
	}
	owed, of := pay.Owed(list)
	merchant, err := po.Store.Merchants().Get(ctx, s.Merchant)
	if err != nil {
		return err
	}
	switch fee := merchant.Terms().WithdrawalFee; {
	case !control.Automatic:
		return po.Commit(ctx, s.ByHand(now), view.Cause{})
	case owed <= fee || owed < control.Minimum:
		return po.Commit(ctx, s.Unpaid(pay.WaitsMinimum, now), view.Cause{})
	case merchant.MayBegin(s.Live) != nil:
		return po.Commit(ctx, s.Unpaid(pay.WaitsPause, now), view.Cause{})
	case !control.PayoutDay(now):
		return po.Commit(ctx, s.Unpaid(pay.WaitsDay, now), view.Cause{})
	}
	shops, err := po.Store.Merchants().Shops(ctx, s.Merchant)
	if err != nil {
		return err
	}
	_, err = po.withdraw(ctx, po.Self(), tenant.Scope{Merchant: s.Merchant, Shop: shops[0].ID, Live: s.Live}, merchant.Terms().WithdrawalFee, NewWithdrawal{
		Amount: money.New(owed, money.USD), Mark: id.Mark("automatic|" + of[0].ID),
		With: func(w pay.Withdrawal) []pay.Settlement { return pay.PaidBy(of, w.ID, now) },
	})
	if refused, ok := errors.AsType[*problem.Error](err); ok {
		why := pay.Unpayable(refused.Details.Reason)
		if why == "" {
			why = pay.Unpayable(refused.Code)
		}
		if refused.Code == problem.MissingField {
			why = pay.WaitsWallet
		}
		po.Quiet.WarnSometimes(ctx, "the payout of a settlement waits", s.ID, "settlement", s.ID, "reason", why)
		return po.Commit(ctx, s.Unpaid(why, now), view.Cause{})
	}
	return err
}
