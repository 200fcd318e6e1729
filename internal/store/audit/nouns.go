// Package audit reads the audit log, and describes its table.
package audit

import "github.com/cascadapay/cascada/internal/store/base"

// OfAudit has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfAudit struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfAudit { return OfAudit{b} }
