// Package routing reads routing rules, and describes their table. What follows from the rules is in internal/pay/routing.
package routing

import "github.com/cascadapay/cascada/internal/store/base"

// OfRouting has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfRouting struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfRouting { return OfRouting{b} }
