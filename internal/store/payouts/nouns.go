// Package payouts reads what leaves: wallets, withdrawals, bank files and limits. It describes their tables, and pays nothing.
package payouts

import "github.com/cascadapay/cascada/internal/store/base"

// OfPayouts has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfPayouts struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfPayouts { return OfPayouts{b} }
