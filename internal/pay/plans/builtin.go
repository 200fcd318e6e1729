package plans

import (
	"time"

	"github.com/cascadapay/cascada/internal/pay/merchants"
)

// tierPlan names the built-in plan of a tier. An unknown tier has the starter's.
func tierPlan(t merchants.Tier) string {
	for _, known := range merchants.Tiers() {
		if t == known {
			return string(t)
		}
	}
	return string(merchants.Starter)
}

// BuiltIn returns the plans that every installation has: one for each tier, of the same name.
func BuiltIn() []Plan {
	plan := func(tier merchants.Tier, percent, reserve int64, delay time.Duration, withdrawal Withdrawal, chargeback int64) Plan {
		return Plan{Name: string(tier), Terms: Terms{
			Prices: []Price{{Percent: percent}}, Reserve: Reserve{Percent: reserve}, Settlement: Settlement{Delay: delay},
			Withdrawal: withdrawal, ChargebackFee: chargeback,
		}}
	}
	return []Plan{
		plan(merchants.Starter, 150, 1000, 48*time.Hour, Withdrawal{Fee: 500}, 2500),
		plan(merchants.Standard, 120, 500, 48*time.Hour, Withdrawal{Fee: 300}, 2000),
		plan(merchants.Premium, 90, 300, 48*time.Hour, Withdrawal{Fee: 100}, 1500),
		plan(merchants.Trusted, 70, 0, 24*time.Hour, Withdrawal{Fee: 50, Minimum: 500}, 1500),
	}
}

// OfTier is the terms of the built-in plan of a tier, with its only price.
func OfTier(t merchants.Tier) merchants.Terms {
	terms, err := NewBook(nil).plans[tierPlan(t)][0].General(merchants.Merchant{}, nil)
	if err != nil { // it is in USD: nothing is converted
		panic(err)
	}
	return terms
}
