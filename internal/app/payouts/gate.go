package payouts

import (
	"context"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/view"
)

// passage is the gate's answer about one withdrawal.
type passage struct {
	why     pay.Unpayable // why it must not be sent now; Payable if it may
	until   time.Time     // when to ask again
	counted []pay.PayoutControl
}

// walletGone says that a withdrawal's wallet was deleted.
const walletGone pay.Unpayable = "wallet_disabled"

// inBatch says that a withdrawal leaves in a file.
const inBatch pay.Unpayable = "in_batch"

// gateLook is the pause before the gate is asked again about a deleted wallet.
const gateLook = 5 * time.Minute

// gate says whether a withdrawal may be sent now. Whatever sends one asks it each time, right before: the first call, a call that
// is repeated because the account does not have the payout, and a file for a bank. It reads the stops, the limits and the wallet
// (PAYOUT-12). Queries do not ask it, because they move no money. A merchant's pause is asked about when a withdrawal is made: what is
// under way goes on (SVC-17).
func (po *Payouts) gate(ctx context.Context, w pay.Withdrawal, now time.Time) (p passage, err error) {
	wallet, err := po.Store.Wallets().Get(ctx, w.Scope, w.Wallet)
	if err != nil {
		return p, fmt.Errorf("wallet of withdrawal %s: %w", w.ID, err)
	}
	if wallet.Status == pay.WalletDisabled {
		return passage{why: walletGone, until: now.Add(gateLook)}, nil
	}
	list, err := po.Store.Withdrawals().Controls(ctx, w.Merchant, w.Live)
	if err != nil {
		return p, err
	}
	for _, c := range list {
		at := now
		if c.Merchant == "" { // a merchant's test clock does not apply to the control of all merchants
			at = po.Now()
		}
		if held, next := c.Holds(w, at); held.Before(p.why) {
			p.why, p.until = held, now.Add(next.Sub(at))
		}
		if next, limited := c.Count(w, at); limited {
			p.counted = append(p.counted, next)
		}
	}
	return p, nil
}

// turnAway writes that the gate does not let a withdrawal through. missing: its account proved that it does not have it. A
// withdrawal that is nowhere and whose wallet was deleted fails.
//
// It returns errHeld.
func (po *Payouts) turnAway(ctx context.Context, w pay.Withdrawal, p passage, missing bool) error {
	var change pay.Change
	now := po.TimeOf(w.Scope)
	switch {
	case p.why == walletGone && (w.Status == pay.WithdrawalPending || missing):
		_, change = w.Refuse(string(walletGone), "the wallet was deleted before the withdrawal was sent", now)
	case w.Status != pay.WithdrawalPending:
		change = w.Hold(string(p.why), p.until, now)
	default:
		_, waits, fresh := w.Wait(string(p.why), p.until, now)
		if !fresh {
			return errHeld
		}
		change = waits
	}
	if err := po.Commit(ctx, change, view.Cause{}); err != nil {
		return err
	}
	return errHeld
}
