// Package books reads where money is: balances, transfers and movements, and comparisons with reports. It describes their tables.
//
// It books nothing: transfers go through the queue of changes.
package books

import "github.com/cascadapay/cascada/internal/store/base"

// OfBooks has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfBooks struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfBooks { return OfBooks{b} }
