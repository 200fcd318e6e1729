package merchants

import (
	"context"
	"slices"

	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/pay/lists"
	"github.com/cascadapay/cascada/internal/pay/merchants"
	"github.com/cascadapay/cascada/internal/store"
	"github.com/cascadapay/cascada/internal/view"
)

// ShopsOf lists the shops in a scope, oldest first, with their number: its own shop, or all of the
// merchant.
//
// Errors: invalid_request for an unknown cursor.
func (ob *Onboarding) ShopsOf(ctx context.Context, scope merchants.Scope, page lists.Page) ([]merchants.Shop, int64, error) {
	list, err := ob.Store.Merchants().Shops(ctx, scope.Merchant)
	if err != nil {
		return nil, 0, err
	}
	if scope.Shop != "" {
		list = slices.DeleteFunc(list, func(s merchants.Shop) bool { return s.ID != scope.Shop })
	}
	some, err := cut(list, page, func(s merchants.Shop) string { return s.ID })
	return some, int64(len(list)), err
}

// KeysOf lists the keys in a scope's environment, oldest first, with their use and number: those of
// its shop, or all of the merchant. status is that of a view.Key, or "" for any.
//
// Errors: invalid_request for an unknown cursor.
func (ob *Onboarding) KeysOf(ctx context.Context, scope merchants.Scope, status string, page lists.Page) ([]merchants.Key, map[string]store.KeyUsage, int64, error) {
	all, uses, err := ob.keys.List(ctx, scope.Merchant)
	if err != nil {
		return nil, nil, 0, err
	}
	now := ob.Now()
	list := slices.DeleteFunc(all, func(k merchants.Key) bool {
		over := k.Over(now)
		return k.Live != scope.Live || scope.Shop != "" && k.Shop != scope.Shop || status == view.KeyActive && over || status == view.KeyEnded && !over
	})
	some, err := cut(list, page, func(k merchants.Key) string { return k.ID })
	return some, uses, int64(len(list)), err
}

// cut takes a page out of a list that is read whole, because a merchant has few rows of it.
//
// Errors: invalid_request for an unknown cursor.
func cut[T any](list []T, page lists.Page, id func(T) string) ([]T, error) {
	from := page.Offset
	if page.After != "" {
		at := slices.IndexFunc(list, func(v T) bool { return id(v) == page.After })
		if at < 0 {
			return nil, base.OrNotBehind(store.ErrNotFound)
		}
		from = at + 1
	}
	from = min(from, len(list))
	return list[from:min(from+page.Limit, len(list))], nil
}
