// Package rates reads exchange rates and the ids of rails, and describes their tables.
package rates

import "github.com/cascadapay/cascada/internal/store/base"

// OfRates has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfRates struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfRates { return OfRates{b} }
