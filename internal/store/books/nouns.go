// Package books reads where money is and where it goes: balances and transfers, settlements, reserves,
// wallets, withdrawals with their bank files, and comparisons with reports. It describes their tables.
//
// It books nothing: transfers go through the queue of changes.
package books

import "github.com/cascadapay/cascada/internal/store/base"

// OfBooks are the nouns of the package. A Store embeds them.
type OfBooks struct {
	Books           *Books
	Settlements     *Settlements
	Reserves        *Reserves
	Wallets         *Wallets
	Withdrawals     *Withdrawals
	Batches         *Batches
	Reconciliations *Reconciliations
}

// NewBooks returns the nouns of a database.
func NewBooks(b *base.Base) OfBooks {
	return OfBooks{
		Books:           &Books{b},
		Settlements:     &Settlements{b},
		Reserves:        &Reserves{b},
		Wallets:         &Wallets{b},
		Withdrawals:     &Withdrawals{b},
		Batches:         &Batches{b},
		Reconciliations: &Reconciliations{b},
	}
}
