// Package payments reads payments with their lists and totals, refunds and disputes with their evidence,
// checkout sessions, and providers' notices. It describes their tables.
//
// It writes only leases and the purge of old rows: changes go through the queue.
package payments

import "github.com/cascadapay/cascada/internal/store/base"

// OfPayments are the nouns of the package. A Store embeds them.
type OfPayments struct {
	Payments    *Payments
	Claims      *Claims
	Sessions    *Sessions
	Notices     *Notices
	Idempotency *Idempotency
	Rollups     *Rollups
}

// NewPayments returns the nouns of a database.
func NewPayments(b *base.Base) OfPayments {
	return OfPayments{
		Payments:    &Payments{b},
		Claims:      &Claims{b},
		Sessions:    &Sessions{b},
		Notices:     &Notices{b},
		Idempotency: &Idempotency{b},
		Rollups:     &Rollups{b: b},
	}
}
