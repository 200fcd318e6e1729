package payments

import (
	"context"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// longList is the number of payments from which a list counts as long: reading it takes
// milliseconds of processor time.
const longList = 50

// List lists a shop's payments, newest first, with the number that the filter selects. Long lists of
// one merchant take turns, on half of the processors: they must not keep other merchants waiting.
//
// Errors: invalid_request for an unknown cursor.
func (pa *Payments) List(ctx context.Context, scope merchants.Scope, f lists.PaymentFilter) ([]pay.Payment, int64, error) {
	if f.Limit >= longList {
		done, err := pa.lists.Lock(ctx, scope.Merchant)
		if err != nil {
			return nil, 0, err
		}
		defer done()
	}
	if err := base.Behind(f.After, func() error {
		_, err := pa.Store.Payments().Get(ctx, scope, f.After)
		return err
	}); err != nil {
		return nil, 0, err
	}
	list, err := pa.Store.Payments().List(ctx, scope, f)
	if err != nil {
		return nil, 0, err
	}
	if err := pa.SettledAs(ctx, list); err != nil {
		return nil, 0, err
	}
	total, err := pa.Store.Payments().Count(ctx, scope, f)
	return list, total, err
}

// ExportPage is the most payments that ListFrom returns.
const ExportPage = 500

// ListFrom lists a shop's payments after f.After, newest first. Fewer than ExportPage means that
// there are no more.
//
// Errors: invalid_request for an unknown cursor.
func (pa *Payments) ListFrom(ctx context.Context, scope merchants.Scope, f lists.PaymentFilter) ([]pay.Payment, error) {
	if err := base.Behind(f.After, func() error {
		_, err := pa.Store.Payments().Get(ctx, scope, f.After)
		return err
	}); err != nil {
		return nil, err
	}
	f.Limit, f.Offset = ExportPage, 0
	list, err := pa.Store.Payments().List(ctx, scope, f)
	if err != nil {
		return nil, err
	}
	return list, pa.SettledAs(ctx, list)
}
