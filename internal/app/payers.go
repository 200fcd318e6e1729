package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/payout"
)

// simulatedPayouts is the account that withdrawals name which what stands in for accounts pays.
const simulatedPayouts = "simulated"

// payer returns the client of a payout account that a withdrawal was sent to.
func (a *App) payer(live bool, account string) (payout.Provider, bool) {
	if account == simulatedPayouts {
		to := a.standIn(live)
		return to, to != nil
	}
	to := a.desks.Load().byID[account].payouts
	return to, to != nil
}

// standIn pays out where no account does: the simulator, in the sandbox. nil: nothing does.
func (a *App) standIn(live bool) payout.Provider {
	if live {
		return a.LivePayout
	}
	return a.SandboxPayout
}

// paying lists the accounts that pay out to a wallet, in the order in which they are tried: by
// priority, then by what they ask for the amount.
func (a *App) paying(w pay.Wallet) (pay.Accounts, pay.Rail) {
	rail := pay.PayoutRail(w.Network, w.Currency)
	return a.desks.Load().paying.Serving(w.Scope, rail), rail
}

// choosePayer chooses the account that pays an amount of USD out to a wallet.
//
// Errors: service_unavailable (no_payout_account) where none pays out to such a wallet,
// amount_above_maximum and amount_below_minimum where none pays out that much or that little.
func (a *App) choosePayer(w pay.Wallet, net money.Amount) (string, error) {
	serving, rail := a.paying(w)
	if len(serving) == 0 {
		if a.standIn(w.Live) != nil {
			return simulatedPayouts, nil
		}
		return "", &pay.Error{Code: pay.CodeServiceUnavailable, Details: pay.Details{Reason: string(pay.UnpayableNoAccount)},
			Message: fmt.Sprintf("withdrawals to %s in %s are not available now: the operator has no account that pays them out", w.Network, w.Currency)}
	}
	taking, _ := serving.Taking(rail, net)
	if len(taking) == 0 {
		return "", serving.RefusePayout(rail, net)
	}
	return taking.First(rail, net).ID, nil
}

// Payability tells why wallets of a shop cannot be paid to now: pay.Payable where they can.
func (a *App) Payability(ctx context.Context, scope pay.Scope) (func(pay.Wallet) pay.Unpayable, error) {
	err := a.requireKYC(ctx, scope, pay.KYCBasic)
	refused, unverified := errors.AsType[*pay.Error](err)
	if unverified = unverified && refused.Code == pay.CodeKYCRequired; err != nil && !unverified {
		return nil, err
	}
	return func(w pay.Wallet) pay.Unpayable {
		if why := w.Unpayable(a.now(w.Scope)); why != pay.Payable {
			return why
		}
		if unverified {
			return pay.UnpayableUnverified
		}
		if serving, _ := a.paying(w); len(serving) == 0 && a.standIn(w.Live) == nil {
			return pay.UnpayableNoAccount
		}
		return pay.Payable
	}, nil
}
