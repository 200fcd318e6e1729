package payments

import (
	"context"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/problem"
)

// maxTries bounds how far back the payments of an order are looked at. A shopper who
// has tried more often has given up the first ones long ago.
const maxTries = 32

// holder looks for money of an order: with the payment that is named, or with one
// before it that it tries again. false where there is none.
func (ss *Sessions) holder(ctx context.Context, id string) (p pay.Payment, held bool, err error) {
	for range maxTries {
		if id == "" {
			break
		}
		if p, err = ss.Store.Payments.Any(ctx, id); err != nil {
			return p, false, err
		}
		if p.Holds() {
			return p, true, nil
		}
		id = p.After
	}
	return p, false, nil
}

// Holder is the payment that holds money of a session's order, "" where none does:
// one before, of the same order, was paid late, or of another amount, or nobody knows.
func (ss *Sessions) Holder(ctx context.Context, s pay.Session) (string, error) {
	p, held, err := ss.holder(ctx, s.After)
	if err != nil || !held {
		return "", err
	}
	return p.ID, nil
}

// paidFor refuses another payment while money of the order is held.
//
// Errors: conflict_state.
func (ss *Sessions) paidFor(ctx context.Context, id string) error {
	p, held, err := ss.holder(ctx, id)
	if err != nil || !held {
		return err
	}
	return &problem.Error{Code: problem.ConflictState, Message: "money for this order has come, or may have: the payment in details.existingTxId tells; do not ask for more",
		Details: problem.Details{Reason: pay.PaymentReceived, ExistingTxID: p.ID}}
}
