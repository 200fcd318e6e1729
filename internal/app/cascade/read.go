package cascade

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Payment reads one payment of the shop.
//
// Errors: transaction_not_found, also for another shop's payment.
func (c *Cascade) Payment(ctx context.Context, scope merchants.Scope, id string) (pay.Payment, error) {
	if !base.Storable(id) {
		return pay.Payment{}, NoTransaction(scope, id)
	}
	p, err := c.Store.Payments().Get(ctx, scope, id)
	if errors.Is(err, store.ErrNotFound) {
		return p, NoTransaction(scope, id)
	}
	if err != nil {
		return p, err
	}
	return base.Settled(ctx, c.Base, p)
}

// NoTransaction is the error if a shop has no such payment: transaction_not_found.
func NoTransaction(scope merchants.Scope, id string) error {
	return base.Missing(problem.TransactionNotFound, scope, id)
}

// AnyPayment reads a payment of any tenant by its id.
//
// Errors: transaction_not_found.
func (c *Cascade) AnyPayment(ctx context.Context, id string) (pay.Payment, error) {
	if !base.Storable(id) {
		return pay.Payment{}, NoTransaction(merchants.Scope{}, id)
	}
	p, err := c.Store.Payments().Any(ctx, id)
	if err != nil {
		return p, base.OrRefuse(err, NoTransaction(merchants.Scope{}, id))
	}
	return p, nil
}
