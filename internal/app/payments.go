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

// Payments lists a shop's payments, newest first, and counts what the filter
// selects.
//
// Errors: invalid_request for a page behind a row that is not there.
func (a *App) Payments(ctx context.Context, scope pay.Scope, f store.Filter) ([]pay.Payment, int64, error) {
	if err := base.Behind(f.After, func() error {
		_, err := a.Store.Payment(ctx, scope, f.After)
		return err
	}); err != nil {
		return nil, 0, err
	}
	list, err := a.Store.Payments(ctx, scope, f)
	if err != nil {
		return nil, 0, err
	}
	if err := a.SettledAs(ctx, list); err != nil {
		return nil, 0, err
	}
	total, err := a.Store.CountPayments(ctx, scope, f)
	return list, total, err
}

// ExportPage is how many payments PaymentsFrom returns at most.
const ExportPage = 500

// PaymentsFrom lists a shop's payments, newest first, from f.After on: ExportPage of them, and fewer
// where there are no more.
//
// Errors: invalid_request for a page behind a row that is not there.
func (a *App) PaymentsFrom(ctx context.Context, scope pay.Scope, f store.Filter) ([]pay.Payment, error) {
	if err := base.Behind(f.After, func() error {
		_, err := a.Store.Payment(ctx, scope, f.After)
		return err
	}); err != nil {
		return nil, err
	}
	f.Limit, f.Offset = ExportPage, 0
	list, err := a.Store.Payments(ctx, scope, f)
	if err != nil {
		return nil, err
	}
	return list, a.SettledAs(ctx, list)
}
