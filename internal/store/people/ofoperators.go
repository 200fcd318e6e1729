package people

import "github.com/cascadapay/cascada/internal/store/base"

// OfOperators has the operators. A Store embeds this type.
type OfOperators struct{ b *base.Base }

// NewOperators returns the operators of a database.
func NewOperators(b *base.Base) OfOperators { return OfOperators{b} }
