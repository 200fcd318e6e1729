package cascade

import (
	"context"
	"errors"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/pay/tenant"
	"github.com/cascadapay/cascada/internal/store"
)

// Payment reads one payment of the shop.
//
// Errors: transaction_not_found, also for another shop's payment.
func (c *Cascade) Payment(ctx context.Context, scope tenant.Scope, id string) (pay.Payment, error) {
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
	one := []pay.Payment{p}
	err = c.SettledAs(ctx, one)
	return one[0], err
}

// NoTransaction is the error if a shop has no such payment: transaction_not_found.
func NoTransaction(scope tenant.Scope, id string) error {
	return base.Missing(problem.TransactionNotFound, scope, id)
}

// AnyPayment reads a payment of any tenant by its id.
//
// Errors: transaction_not_found.
func (c *Cascade) AnyPayment(ctx context.Context, id string) (pay.Payment, error) {
	if !base.Storable(id) {
		return pay.Payment{}, NoTransaction(tenant.Scope{}, id)
	}
	p, err := c.Store.Payments().Any(ctx, id)
	if err != nil {
		return p, base.OrRefuse(err, NoTransaction(tenant.Scope{}, id))
	}
	return p, nil
}
