// Package payments reads payments with their lists and totals, checkout sessions, and providers' notices. It describes
// their tables.
//
// It writes only leases and the purge of old rows: changes go through the queue.
package payments

import "github.com/cascadapay/cascada/internal/store/base"

// OfPayments has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfPayments struct {
	b       *base.Base
	rollups *Rollups // one for the database, since it has a state
}

// New returns the nouns of a database.
func New(b *base.Base) OfPayments { return OfPayments{b, &Rollups{b: b}} }
