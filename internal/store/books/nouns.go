// Package books reads where money is and where it goes: balances and transfers, settlements, reserves,
// wallets, withdrawals with their bank files, and comparisons with reports. It describes their tables.
//
// It books nothing: transfers go through the queue of changes.
package books

import "github.com/cascadapay/cascada/internal/store/base"

// OfBooks are the nouns of the package: each one's file has the method that returns it. A Store embeds them.
type OfBooks struct{ b *base.Base }

// NewBooks returns the nouns of a database.
func NewBooks(b *base.Base) OfBooks { return OfBooks{b} }
