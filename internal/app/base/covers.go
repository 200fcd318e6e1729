package base

import (
	"context"
	"slices"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// SettlementsFor returns settlements as a scope sees them: a shop with siblings does not see which withdrawals of theirs pay them out
// (AUTH-17). made are withdrawals that may not be stored yet.
func SettlementsFor(ctx context.Context, b *Base, scope merchants.Scope, list []pay.Settlement, made []pay.Withdrawal) ([]pay.Settlement, error) {
	var ids []string
	for _, s := range list {
		ids = append(ids, s.Withdrawals()...)
		if s.Payout != "" {
			ids = append(ids, s.Payout)
		}
	}
	if scope.Shop == "" || len(ids) == 0 {
		return list, nil
	}
	shops, err := b.Store.Merchants().Shops(ctx, scope.Merchant)
	if err != nil || len(shops) < 2 {
		return list, err
	}
	slices.Sort(ids)
	stored, err := b.Store.Withdrawals().ByID(ctx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	mine := map[string]bool{}
	for _, w := range append(stored, made...) {
		mine[w.ID] = w.Shop == scope.Shop
	}
	seen := make([]pay.Settlement, 0, len(list))
	for _, s := range list {
		seen = append(seen, s.Showing(func(withdrawal string) bool { return mine[withdrawal] }))
	}
	return seen, nil
}
