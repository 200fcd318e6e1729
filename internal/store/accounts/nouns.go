// Package accounts reads provider accounts, and describes their table. It does not decide which is used.
package accounts

import "github.com/cascadapay/cascada/internal/store/base"

// OfAccounts has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfAccounts struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfAccounts { return OfAccounts{b} }
