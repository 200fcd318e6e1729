package payments

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// maxTries is how many earlier payments of an order are checked. After more tries, the shopper has
// long given up the first ones.
const maxTries = 32

// holder looks for money of an order: in the named payment, or in the ones before it that it tries
// again.
func (ss *Sessions) holder(ctx context.Context, id string) (p pay.Payment, held bool, err error) {
	for range maxTries {
		if id == "" {
			break
		}
		if p, err = ss.Store.Payments().Any(ctx, id); err != nil {
			return p, false, err
		}
		if p.Holds() {
			return p, true, nil
		}
		id = p.Order.After
	}
	return p, false, nil
}

// Holder is the payment that holds money of a session's order, "" if there is none. It is an
// earlier payment of the order that was paid late, in another amount, or whose outcome is unknown.
func (ss *Sessions) Holder(ctx context.Context, s pay.Session) (string, error) {
	p, held, err := ss.holder(ctx, s.After)
	if err != nil || !held {
		return "", err
	}
	return p.ID, nil
}

// paidFor returns an error if money of the order is held.
//
// Errors: conflict_state.
func (ss *Sessions) paidFor(ctx context.Context, id string) error {
	p, held, err := ss.holder(ctx, id)
	if err != nil || !held {
		return err
	}
	return &problem.Error{Code: problem.ConflictState, Reason: moneyArrivedForOrder,
		Details: problem.Details{Reason: pay.PaymentReceived, ExistingTxID: p.ID}}
}
