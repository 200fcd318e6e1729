// Package claims reads refunds and disputes, and describes their table. It writes no claim: claims go through the queue of changes.
package claims

import "github.com/cascadapay/cascada/internal/store/base"

// OfClaims has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfClaims struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfClaims { return OfClaims{b} }
