package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/cascadapay/cascada/internal/money"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/payout"
	"github.com/cascadapay/cascada/internal/provider"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// PayOut looks at withdrawals that are due: it sends pending ones to the payout
// provider, and asks it what became of the others. It waits for what it has begun, and
// returns how many it took; doing one twice is harmless.
func (a *App) PayOut(ctx context.Context) (int, error) { return waiting(ctx, a.payOut) }

// payOut hands withdrawals that are due to the lanes of their payout accounts.
func (a *App) payOut(ctx context.Context, begun *sync.WaitGroup) (int, error) {
	now := a.Now()
	due, err := a.store.LeaseWithdrawals(ctx, now, now.Add(sweepLease), sweepBatch)
	if err != nil {
		return 0, err
	}
	for _, w := range due {
		wallet, err := a.store.Wallet(ctx, w.Scope, w.Wallet)
		if err != nil {
			a.Log.Error("a due withdrawal has no wallet; it comes again", "withdrawal", w.ID, "error", err)
			continue
		}
		account := w.Provider
		if account == "" {
			if account, err = a.choosePayer(wallet, money.New(w.Net(), money.USD)); err != nil {
				a.warnSometimes("a withdrawal waits for an account that pays it out", w.ID, "withdrawal", w.ID, "network", wallet.Network, "currency", wallet.Currency, "error", err)
				account = "" // it may be cancelled, and its wallet deleted
			}
		}
		a.withdrawals.submit(account, w.ID, begun, func(may bool) {
			err := a.forward(ctx, w, wallet, account, may)
			if err != nil && !errors.Is(err, store.ErrStale) { // stale: it was cancelled, or another node was faster
				a.Log.Error("a due withdrawal could not be looked at; it comes again", "withdrawal", w.ID, "error", err)
			}
		})
	}
	return len(due), nil
}

// forward takes one step with a withdrawal: to an account that was chosen, or to the one that it was
// sent to, which is asked where it may be. "" stands for none.
func (a *App) forward(ctx context.Context, w pay.Withdrawal, wallet pay.Wallet, account string, may bool) error {
	if w.Status == pay.WithdrawalPending && wallet.Status == pay.WalletDisabled {
		_, change := w.Refuse("wallet_disabled", "the wallet was deleted before the withdrawal was sent", a.now(w.Scope))
		return a.commit(ctx, change, view.Cause{})
	}
	if account == "" {
		return nil
	}
	to, known := a.payer(w.Live, account)
	if !known {
		return fmt.Errorf("payout account %q cannot be called", account)
	}
	request, err := a.payoutRequest(w, wallet)
	if err != nil {
		return err
	}
	if w.Status == pay.WithdrawalPending {
		return a.sendPayout(ctx, w, account, to, request)
	}
	if !may {
		return a.resolvePayout(ctx, w, pay.PayoutOutcome{Kind: pay.PayoutUnknown})
	}
	asked, err := a.asked(ctx)
	if err != nil {
		return err
	}
	asking, cancel := context.WithTimeout(ctx, callTimeout)
	o := to.Query(asking, request)
	cancel()
	a.withdrawals.heard(account, o.Kind != pay.PayoutUnknown)
	o = w.ProvedPayout(o, asked)
	if o.Kind == pay.PayoutMissing {
		// It never arrived there, so it is sent again, under the same reference.
		return a.sendPayout(ctx, w, account, to, request)
	}
	return a.resolvePayout(ctx, w, o)
}

// sendPayout writes down that the provider is about to be called, which makes the
// call this node's, calls it, and commits what it said.
func (a *App) sendPayout(ctx context.Context, w pay.Withdrawal, account string, to payout.Provider, request payout.Request) error {
	by, err := a.caller(ctx)
	if err != nil {
		return err
	}
	sent, change := w.Send(account, by, a.now(w.Scope))
	if err := a.commit(ctx, change, view.Cause{}); err != nil {
		return err
	}
	mayLeave := a.fence(sent.Flight)
	if !mayLeave() {
		return nil // whoever looks at it next asks first
	}
	// From here the money may leave: the call is ours to finish.
	ctx = context.WithoutCancel(ctx)
	request.Sent = sent.SentAt
	calling, cancel := context.WithTimeout(provider.Fenced(ctx, mayLeave), callTimeout)
	defer cancel()
	o := to.Send(calling, request)
	return a.resolvePayout(ctx, sent, o)
}

// resolvePayout commits what the provider said of the withdrawal as it stood then.
func (a *App) resolvePayout(ctx context.Context, then pay.Withdrawal, o pay.PayoutOutcome) error {
	w := then
	return again(func() error {
		next, change, ok := w.Heard(then, o, a.now(w.Scope))
		if !ok {
			if o.Kind == pay.PayoutPaid && w.Status != pay.WithdrawalDone || o.Kind == pay.PayoutRejected && w.Status == pay.WithdrawalDone {
				a.Log.Error("the payout provider says of a withdrawal that it has ended otherwise", "withdrawal", w.ID, "status", w.Status, "provider", o.Kind)
			}
			return nil
		}
		err := a.commit(ctx, change, view.Cause{})
		if errors.Is(err, store.ErrStale) {
			read, readErr := a.store.Withdrawal(ctx, w.Scope, w.ID)
			if readErr != nil {
				return readErr
			}
			w = read
			return err
		}
		if err == nil && next.Status == pay.WithdrawalRefused && next.Live {
			a.Log.Warn("a withdrawal failed", "withdrawal", w.ID, "code", next.FailureCode)
		}
		return err
	})
}

func (a *App) payoutRequest(w pay.Withdrawal, wallet pay.Wallet) (payout.Request, error) {
	account, err := a.Vault.Open(wallet.Secret(), wallet.Sealed)
	if err != nil {
		return payout.Request{}, fmt.Errorf("destination of wallet %s: %w", wallet.ID, err)
	}
	return payout.Request{
		Reference: w.Reference(), ProviderRef: w.ProviderRef, Amount: money.New(w.Amount, money.USD), Net: money.New(w.Net(), money.USD),
		Type: wallet.Type, Network: wallet.Network, Currency: wallet.Currency, Destination: string(account),
		Sent: w.SentAt, Now: a.now(w.Scope),
	}, nil
}
