package acquiring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"

	"github.com/cascadapay/cascada/internal/pay/acquirer"
	"github.com/cascadapay/cascada/internal/pay/audit"
	"github.com/cascadapay/cascada/internal/store"
)

// Applied says what became of an account that was declared.
type Applied string

// What can become of it.
const (
	AppliedAdded     Applied = "added"
	AppliedChanged   Applied = "changed"
	AppliedUnchanged Applied = "unchanged"
)

// Apply makes an account as it is declared: it is opened, or what differs
// is changed. Doing it twice changes nothing.
//
// Errors: what is wrong with it, that it was removed, or that the present one is
// of another adapter, environment or merchant, which an account keeps for life.
func (ac *Accounts) Apply(ctx context.Context, by audit.Actor, n NewAccount) (Applied, error) {
	if n.ID == "" {
		return "", errors.New("an account that is declared needs an id, or it would be opened again each time")
	}
	present, err := ac.Store.Accounts.Get(ctx, n.ID)
	if errors.Is(err, store.ErrNotFound) {
		_, err := ac.Add(ctx, by, n)
		return AppliedAdded, err
	}
	if err != nil {
		return "", err
	}
	if present.Adapter != n.Adapter || present.Live != n.Live || present.Merchant != n.Merchant {
		return "", fmt.Errorf("account %s is one at %s in %s for %q, for life: declare another id", n.ID, present.Adapter, present.Environment(), present.Merchant)
	}
	done := AppliedUnchanged
	if !reflect.DeepEqual(settled(present, n), present) {
		done = AppliedChanged
		if _, err := ac.Edit(ctx, by, n.ID, func(account acquirer.Account) (acquirer.Account, error) { return settled(account, n), nil }); err != nil {
			return "", err
		}
	}
	credentials, err := ac.providers.unsealCredentials(n.ID, present.Credentials)
	if err != nil {
		return "", err
	}
	if maps.Equal(credentials, n.Credentials) {
		return done, nil
	}
	for name := range credentials { // one that is declared no more is given up
		if _, kept := n.Credentials[name]; !kept {
			n.Credentials[name] = ""
		}
	}
	_, err = ac.Rotate(ctx, by, n.ID, n.Credentials)
	return AppliedChanged, err
}

// settled is an account with the settings that are declared.
func settled(account acquirer.Account, n NewAccount) acquirer.Account {
	if account.Status == acquirer.AccountRemoved {
		return account
	}
	account.BaseURL, account.Priority, account.Status = n.BaseURL, n.Priority, acquirer.AccountEnabled
	if n.Disabled {
		account.Status = acquirer.AccountDisabled
	}
	if len(account.Rails)+len(n.Rails) > 0 { // none is none, however it is written
		account.Rails = n.Rails
	}
	if len(account.Terms)+len(n.Terms) > 0 {
		account.Terms = n.Terms
	}
	return account
}
