package payments

import (
	"context"
	"errors"
	"time"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/accounts"
	"github.com/cascadapay/cascada/internal/pay/installment"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/pay/problem"
	"github.com/cascadapay/cascada/internal/store"
)

// Shown is a payment as its shopper sees it.
type Shown struct {
	pay.Payment
	Shop merchants.Shop
	Rail accounts.Rail
	Now  time.Time // in the payment's clock
	// Simulated: a simulated bank plays it.
	Simulated bool
	// Earlier is the payment of the same order that holds money, so that this one must not be paid;
	// "" if there is none.
	Earlier string
	// Offer is the installments that the shopper may choose where the payment is made.
	Offer installment.Offer
	// Closed: the merchant begins no payment now, or the payment link has ended, so nothing can be tried again.
	Closed bool
}

// Shown reads the payment of a link. The link is all that a shopper has, so no credentials are
// needed.
//
// Errors: transaction_not_found.
func (ss *Sessions) Shown(ctx context.Context, id string) (Shown, error) {
	unknown := problem.New(problem.TransactionNotFound, base.NoPayment)
	if !base.Storable(id) {
		return Shown{}, unknown
	}
	p, err := ss.Store.Payments().Any(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return Shown{}, unknown
	}
	if err != nil {
		return Shown{}, err
	}
	if err := ss.Sandboxes.MayEnter(ctx, p.Scope); err != nil {
		return Shown{}, err
	}
	merchant, shop, err := ss.Tenant(ctx, base.Principal{Scope: p.Scope})
	if err != nil {
		return Shown{}, err
	}
	shown := Shown{Payment: p, Shop: shop, Rail: ss.catalog.ByID[p.Way.RailID], Now: ss.TimeOf(p.Scope), Simulated: ss.providers.StoodIn(p), Closed: merchant.MayBegin(p.Live) != nil}
	if ended, err := ss.linkEnded(ctx, p); err != nil {
		return Shown{}, err
	} else if ended {
		shown.Closed = true
	}
	shown.Offer = ss.methods.InstallmentsOf(p, shown.Rail)
	if earlier, held, err := ss.holder(ctx, p.Order.After); err != nil {
		return Shown{}, err
	} else if held {
		shown.Earlier = earlier.ID
	}
	return shown, nil
}

// Versions returns the payments' versions: a page that watches a payment sees that it has changed.
func (ss *Sessions) Versions(ctx context.Context, payments []string) (map[string]int64, error) {
	return ss.Store.Payments().Versions(ctx, payments)
}
