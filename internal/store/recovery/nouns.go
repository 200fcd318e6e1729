// Package recovery reads what providers know of the time that a restored copy of the database lost. It describes its
// tables.
package recovery

import "github.com/cascadapay/cascada/internal/store/base"

// OfRecovery has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfRecovery struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfRecovery { return OfRecovery{b} }
