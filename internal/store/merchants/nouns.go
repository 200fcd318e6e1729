// Package merchants reads merchants with their shops, keys and secrets, their verifications and their test clocks. It describes
// their tables.
package merchants

import "github.com/cascadapay/cascada/internal/store/base"

// OfMerchants has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfMerchants struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfMerchants { return OfMerchants{b} }
