package view

import (
	"fmt"
	"time"

	"github.com/cascadapay/cascada/internal/pay/rates"
)

// NewStaleRates warns of exchange rates that are old.
func NewStaleRates(stale []rates.KnownRate, limits rates.Limits) []LedgerWarning {
	var warnings []LedgerWarning
	for _, q := range stale {
		warnings = append(warnings, LedgerWarning{
			Code: "stale_rate", AmountUSD: USD(0), Since: at(q.At.Add(limits.StaleAfter)),
			Message: fmt.Sprintf("the exchange rate of %s is from %s; after %s no new charges are taken in it",
				q.Currency, q.At.UTC().Format(time.RFC3339), q.At.Add(limits.MaxAge).UTC().Format(time.RFC3339)),
		})
	}
	return warnings
}
