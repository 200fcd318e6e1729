package payouts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/mails"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/pay/destination"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// Wallets are the merchants' wallets.
type Wallets struct {
	*base.Base
	mails    *mails.Mails
	coolDown time.Duration // of a new production wallet, during which it cannot be paid to
}

// NewWallets returns the Wallets of a service; coolDown 0 means pay.WalletCoolDown.
func NewWallets(b *base.Base, letters *mails.Mails, coolDown time.Duration) *Wallets {
	if coolDown == 0 {
		coolDown = pay.WalletCoolDown
	}
	return &Wallets{Base: b, mails: letters, coolDown: coolDown}
}

// NewWallet describes a wallet to be added.
type NewWallet struct {
	destination.Destination
	Label    string
	Default  bool
	CoolDown bool // sandbox: simulate production's cool-down
	pay.Beneficiary
}

// Add adds a wallet to a shop. In production the merchant gets an e-mail.
//
// Errors: conflict_state if the shop has a wallet with this destination.
func (wa *Wallets) Add(ctx context.Context, by base.Principal, scope merchants.Scope, n NewWallet) (pay.Wallet, error) {
	if err := pay.FitWallet(n.Label, n.Account, n.Beneficiary); err != nil {
		return pay.Wallet{}, err
	}
	place := n.Network + ":" + n.Currency + ":" + n.Account
	if n.Network == destination.TED {
		place += ":" + n.Bank + ":" + n.Branch // another bank may have an account of the same number
	}
	fingerprint := wa.Vault.Hash("wallet/" + place)
	coolDown := wa.coolDown
	if !scope.Live && !n.CoolDown {
		coolDown = 0
	}
	var added pay.Wallet
	err := base.Again(func() error {
		same, err := wa.Store.Wallets().For(ctx, scope, fingerprint)
		if err == nil {
			return &problem.Error{Code: problem.ConflictState, Param: "destination", Reason: destinationKnown.With(same.ID),
				Details: problem.Details{Reason: "duplicate_destination", From: string(same.Status), Action: "create"}}
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		before, err := wa.defaultWallet(ctx, scope)
		if err != nil {
			return err
		}
		now := wa.TimeOf(scope)
		wallet := pay.Wallet{
			ID: wa.NewID(pay.WalletPrefix, now), Scope: scope, Label: n.Label, Type: pay.WalletType(n.Type), Currency: n.Currency,
			Network: n.Network, Masked: n.Masked, Fingerprint: fingerprint, Default: n.Default,
		}
		wallet.Encrypted = wa.Vault.Encrypt(wallet.Secret(), []byte(n.Account))
		if known := n.Has(); len(known) > 0 {
			text, err := json.Marshal(n.Beneficiary)
			if err != nil {
				return err
			}
			wallet.Holder = wa.Vault.Encrypt(wallet.HolderSecret(), text)
			for _, f := range known {
				wallet.Known = append(wallet.Known, string(f))
			}
		}
		shops, err := wa.Store.Merchants().Shops(ctx, scope.Merchant)
		if err != nil {
			return err
		}
		wallet, change := wallet.Open(coolDown, before, shops, now)
		change.Audit = wa.Audited(by.Actor(), scope, audit.WalletCreated, wallet.ID,
			map[string]string{"network": n.Network, "currency": n.Currency, "destination": n.Masked})
		if err := wa.mails.TellOfWallet(ctx, &change, wallet, by); err != nil {
			return err
		}
		added = wallet
		err = wa.Commit(ctx, change, view.Cause{RequestID: by.RequestID})
		if errors.Is(err, store.ErrDuplicate) { // another request was first with the destination or the default
			return fmt.Errorf("%w: %w", store.ErrStale, err)
		}
		return err
	})
	if err != nil {
		return pay.Wallet{}, err
	}
	return added, nil
}

// defaultWallet reads a shop's default wallet, nil if there is none.
func (wa *Wallets) defaultWallet(ctx context.Context, scope merchants.Scope) (*pay.Wallet, error) {
	w, err := wa.Store.Wallets().Default(ctx, scope)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return &w, err
}

// Get reads one wallet of the shop, including disabled ones.
//
// Errors: wallet_not_found, also for another shop's wallet.
func (wa *Wallets) Get(ctx context.Context, scope merchants.Scope, id string) (pay.Wallet, error) {
	return base.Named(id, base.Missing(problem.WalletNotFound, scope, id), func() (pay.Wallet, error) { return wa.Store.Wallets().Get(ctx, scope, id) })
}

// List lists a shop's wallets, newest first, with their number.
//
// Errors: invalid_request for an unknown cursor.
func (wa *Wallets) List(ctx context.Context, scope merchants.Scope, status pay.WalletStatus, page lists.Page) ([]pay.Wallet, int64, error) {
	if err := base.Behind(page.After, func() error {
		_, err := wa.Store.Wallets().Get(ctx, scope, page.After)
		return err
	}); err != nil {
		return nil, 0, err
	}
	return wa.Store.Wallets().List(ctx, scope, status, page)
}

// Delete disables a wallet. Withdrawals that were not sent yet fail when they come due. The
// wallet's history stays. Deleting it twice is harmless.
//
// Errors: wallet_not_found.
func (wa *Wallets) Delete(ctx context.Context, by audit.Actor, scope merchants.Scope, id string) error {
	return base.Again(func() error {
		w, err := wa.Get(ctx, scope, id)
		if err != nil {
			return err
		}
		change, ok := w.Disable(wa.TimeOf(scope))
		if !ok {
			return nil
		}
		change.Audit = wa.Audited(by, scope, audit.WalletDeleted, w.ID, map[string]string{"destination": w.Masked})
		return wa.Store.Commit(ctx, change)
	})
}

// Activate ends cool-downs that have passed. It returns how many wallets it leased. Doing one twice
// is harmless.
func (wa *Wallets) Activate(ctx context.Context) (int, error) {
	now := wa.Now()
	due, err := wa.Store.Wallets().Lease(ctx, now, now.Add(pay.SweepLease), base.SweepBatch)
	if err != nil {
		return 0, err
	}
	for _, w := range due {
		change, ok := w.Activate(wa.TimeOf(w.Scope))
		if !ok {
			continue
		}
		// Stale: it was deleted meanwhile.
		if err := wa.Store.Commit(ctx, change); err != nil && !errors.Is(err, store.ErrStale) {
			return len(due), fmt.Errorf("activate wallet %s: %w", w.ID, err)
		}
	}
	return len(due), nil
}
