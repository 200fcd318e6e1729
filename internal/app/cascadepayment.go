package app

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/store"
)

// Payment reads one payment of the shop.
//
// Errors: transaction_not_found, also for another shop's.
func (a *App) Payment(ctx context.Context, scope pay.Scope, id string) (pay.Payment, error) {
	if !base.Storable(id) {
		return pay.Payment{}, noTransaction(scope, id)
	}
	p, err := a.Store.Payment(ctx, scope, id)
	if errors.Is(err, store.ErrNotFound) {
		return p, noTransaction(scope, id)
	}
	if err != nil {
		return p, err
	}
	one := []pay.Payment{p}
	err = a.SettledAs(ctx, one)
	return one[0], err
}

func noTransaction(scope pay.Scope, id string) error {
	return base.Missing(pay.CodeTransactionNotFound, "transaction", scope, id)
}
