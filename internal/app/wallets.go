package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/destination"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// NewWallet is what a wallet is made from.
type NewWallet struct {
	destination.Destination
	Label    string
	Default  bool
	CoolDown bool // sandbox: play production's cool-down
	pay.Beneficiary
}

// AddWallet adds a wallet to a shop. Its merchant is told of one in production by e-mail.
//
// Errors: conflict_state when the shop has a wallet with this destination.
func (a *Payouts) AddWallet(ctx context.Context, by base.Principal, scope pay.Scope, n NewWallet) (pay.Wallet, error) {
	fingerprint := a.Vault.Hash("wallet/" + n.Network + ":" + n.Currency + ":" + n.Account)
	coolDown := a.config.WalletCoolDown
	if !scope.Live && !n.CoolDown {
		coolDown = 0
	}
	var added pay.Wallet
	err := base.Again(func() error {
		taken, err := a.Store.WalletFor(ctx, scope, fingerprint)
		if err == nil {
			return &pay.Error{Code: pay.CodeConflictState, Param: "destination", Message: "the wallet " + taken.ID + " has this destination",
				Details: pay.Details{Reason: "duplicate_destination", From: pay.Status(taken.Status), Action: "create"}}
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		before, err := a.defaultWallet(ctx, scope)
		if err != nil {
			return err
		}
		now := a.TimeOf(scope)
		wallet := pay.Wallet{
			ID: a.NewID(pay.WalletPrefix, now), Scope: scope, Label: n.Label, Type: pay.WalletType(n.Type), Currency: n.Currency,
			Network: n.Network, Masked: n.Masked, Fingerprint: fingerprint, Default: n.Default,
		}
		wallet.Sealed = a.Vault.Seal(wallet.Secret(), []byte(n.Account))
		if known := n.Has(); len(known) > 0 {
			text, err := json.Marshal(n.Beneficiary)
			if err != nil {
				return err
			}
			wallet.Holder = a.Vault.Seal(wallet.HolderSecret(), text)
			for _, f := range known {
				wallet.Known = append(wallet.Known, string(f))
			}
		}
		shops, err := a.Store.Shops(ctx, scope.Merchant)
		if err != nil {
			return err
		}
		wallet, change := wallet.Open(coolDown, before, shops, now)
		change.Audit = a.Audited(by.Actor(), scope, pay.WalletCreated, wallet.ID,
			map[string]string{"network": n.Network, "currency": n.Currency, "destination": n.Masked})
		if err := a.mails.TellOfWallet(ctx, &change, wallet, by); err != nil {
			return err
		}
		added = wallet
		err = a.Commit(ctx, change, view.Cause{RequestID: by.RequestID})
		if errors.Is(err, store.ErrDuplicate) { // somebody was first with the destination or the default
			return fmt.Errorf("%w: %w", store.ErrStale, err)
		}
		return err
	})
	if err != nil {
		return pay.Wallet{}, err
	}
	return added, nil
}

// defaultWallet reads a shop's default wallet, nil where it has none.
func (a *Payouts) defaultWallet(ctx context.Context, scope pay.Scope) (*pay.Wallet, error) {
	w, err := a.Store.DefaultWallet(ctx, scope)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return &w, err
}

// Wallet reads one wallet of the shop, a disabled one too.
//
// Errors: wallet_not_found, also for another shop's.
func (a *Payouts) Wallet(ctx context.Context, scope pay.Scope, id string) (pay.Wallet, error) {
	missing := base.Missing(pay.CodeWalletNotFound, "wallet", scope, id)
	if !base.Storable(id) {
		return pay.Wallet{}, missing
	}
	w, err := a.Store.Wallet(ctx, scope, id)
	if errors.Is(err, store.ErrNotFound) {
		return w, missing
	}
	return w, err
}

// Wallets lists a shop's wallets, newest first, and counts them.
//
// Errors: invalid_request for a page behind a row that is not there.
func (a *Payouts) Wallets(ctx context.Context, scope pay.Scope, status pay.WalletStatus, page store.Page) ([]pay.Wallet, int64, error) {
	if err := base.Behind(page.After, func() error {
		_, err := a.Store.Wallet(ctx, scope, page.After)
		return err
	}); err != nil {
		return nil, 0, err
	}
	return a.Store.Wallets(ctx, scope, status, page)
}

// DeleteWallet disables a wallet. Withdrawals that were not sent yet fail when
// they come due; its history stays. Deleting it twice is harmless.
//
// Errors: wallet_not_found.
func (a *Payouts) DeleteWallet(ctx context.Context, by base.Principal, scope pay.Scope, id string) error {
	return base.Again(func() error {
		w, err := a.Wallet(ctx, scope, id)
		if err != nil {
			return err
		}
		change, ok := w.Disable(a.TimeOf(scope))
		if !ok {
			return nil
		}
		change.Audit = a.Audited(by.Actor(), scope, pay.WalletDeleted, w.ID, map[string]string{"destination": w.Masked})
		return a.Store.Commit(ctx, change)
	})
}

// ActivateWallets ends cool-downs that are over. It returns how many it took;
// doing one twice is harmless.
func (a *Payouts) ActivateWallets(ctx context.Context) (int, error) {
	now := a.Now()
	due, err := a.Store.LeaseWallets(ctx, now, now.Add(base.SweepLease), base.SweepBatch)
	if err != nil {
		return 0, err
	}
	for _, w := range due {
		change, ok := w.Activate(a.TimeOf(w.Scope))
		if !ok {
			continue
		}
		// Stale: it was deleted meanwhile.
		if err := a.Store.Commit(ctx, change); err != nil && !errors.Is(err, store.ErrStale) {
			return len(due), fmt.Errorf("activate wallet %s: %w", w.ID, err)
		}
	}
	return len(due), nil
}
