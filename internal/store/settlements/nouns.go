// Package settlements reads settlements, reserves and adjustments. It describes their tables, and books nothing.
package settlements

import "github.com/cascadapay/cascada/internal/store/base"

// OfSettlements has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfSettlements struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfSettlements { return OfSettlements{b} }
