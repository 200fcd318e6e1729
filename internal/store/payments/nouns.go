// Package payments reads what is asked for and paid: payments with their lists and totals, refunds and disputes with
// their evidence, checkout sessions, and what providers told. It describes their tables.
//
// It writes nothing but leases and what goes by its age: changes go through the queue.
package payments

import "github.com/cascadapay/cascada/internal/store/base"

// OfPayments are the nouns of the package. A Store embeds them.
type OfPayments struct {
	Payments    *Payments
	Claims      *Claims
	Sessions    *Sessions
	Receipts    *Receipts
	Idempotency *Idempotency
}

// NewPayments are the nouns as they stand in a database.
func NewPayments(b *base.Base) OfPayments {
	return OfPayments{
		Payments:    &Payments{b},
		Claims:      &Claims{b},
		Sessions:    &Sessions{b},
		Receipts:    &Receipts{b},
		Idempotency: &Idempotency{b},
	}
}
