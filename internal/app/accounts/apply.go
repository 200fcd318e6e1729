package accounts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/store"
)

// Applied is the result of applying a declared account.
type Applied string

// The results.
const (
	AppliedAdded     Applied = "added"
	AppliedChanged   Applied = "changed"
	AppliedUnchanged Applied = "unchanged"
)

// Apply opens an account as it is declared, or changes what differs. Applying it twice changes
// nothing.
//
// It returns an error if the declaration is invalid, if the account was removed, or if the existing
// one has another adapter, environment or merchant, which can never change.
func (ac *Accounts) Apply(ctx context.Context, by audit.Actor, n NewAccount) (Applied, error) {
	if n.ID == "" {
		return "", errors.New("a declared account needs an id: otherwise it would be opened again each time")
	}
	present, err := ac.Store.Accounts().Get(ctx, n.ID)
	if errors.Is(err, store.ErrNotFound) {
		_, err := ac.Add(ctx, by, n)
		return AppliedAdded, err
	}
	if err != nil {
		return "", err
	}
	if present.Status == accounts.Removed { // a removed account has no credentials
		return "", fmt.Errorf("account %s was removed, and an id is used once: declare another id", n.ID)
	}
	if present.Adapter != n.Adapter || present.Live != n.Live || present.Merchant != n.Merchant {
		return "", fmt.Errorf("account %s is at %s in %s for %q, which cannot change: declare another id", n.ID, present.Adapter, present.Environment(), present.Merchant)
	}
	done := AppliedUnchanged
	if !reflect.DeepEqual(settled(present, n), present) {
		done = AppliedChanged
		if _, err := ac.Edit(ctx, by, n.ID, func(account accounts.Account) (accounts.Account, error) { return settled(account, n), nil }); err != nil {
			return "", err
		}
	}
	credentials, err := ac.providers.decryptCredentials(n.ID, present.Credentials)
	if err != nil {
		return "", err
	}
	if maps.Equal(credentials, n.Credentials) {
		return done, nil
	}
	for name := range credentials { // credentials that are not declared any more are removed
		if _, kept := n.Credentials[name]; !kept {
			n.Credentials[name] = ""
		}
	}
	_, err = ac.Rotate(ctx, by, n.ID, n.Credentials)
	return AppliedChanged, err
}

// settled is the account with the declared settings.
func settled(account accounts.Account, n NewAccount) accounts.Account {
	account.BaseURL, account.Priority, account.Status = n.BaseURL, n.Priority, accounts.Enabled
	if n.Disabled {
		account.Status = accounts.Disabled
	}
	if len(account.Rails)+len(n.Rails) > 0 { // nil and empty are the same
		account.Rails = n.Rails
	}
	if len(account.Terms)+len(n.Terms) > 0 {
		account.Terms = n.Terms
	}
	return account
}
