// Package people reads the users of the dashboard, their roles at merchants, their sign-ins and the links
// that were sent to them. It describes their tables.
package people

import "github.com/cascadapay/cascada/internal/store/base"

// OfPeople has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfPeople struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfPeople { return OfPeople{b} }
