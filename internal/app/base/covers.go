package base

import (
	"context"
	"slices"

	"github.com/cascadapay/cascada/internal/pay"
	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// AudienceOf reads which shops see settlements of a merchant, and whose the withdrawals are that pay these out.
func AudienceOf(ctx context.Context, b *Base, merchant string, list ...pay.Settlement) (pay.Audience, error) {
	shops, err := b.Store.Merchants().Shops(ctx, merchant)
	to := pay.Audience{Shops: shops}
	var ids []string
	for _, s := range list {
		ids = append(ids, s.Withdrawals()...)
		if s.Payout != "" {
			ids = append(ids, s.Payout)
		}
	}
	if err != nil || len(shops) < 2 || len(ids) == 0 {
		return to, err
	}
	slices.Sort(ids)
	made, err := b.Store.Withdrawals().ByID(ctx, slices.Compact(ids))
	to.Of = map[string]string{}
	for _, w := range made {
		to.Of[w.ID] = w.Shop
	}
	return to, err
}

// SettlementsFor returns settlements as a scope sees them (AUTH-17).
func SettlementsFor(ctx context.Context, b *Base, scope merchants.Scope, list []pay.Settlement) ([]pay.Settlement, error) {
	paid := func(s pay.Settlement) bool { return s.Payout != "" || len(s.Covers) > 0 }
	if scope.Shop == "" || !slices.ContainsFunc(list, paid) {
		return list, nil
	}
	to, err := AudienceOf(ctx, b, scope.Merchant, list...)
	if err != nil {
		return nil, err
	}
	seen := make([]pay.Settlement, 0, len(list))
	for _, s := range list {
		seen = append(seen, to.Show(s, scope.Shop))
	}
	return seen, nil
}
