// Package mails reads e-mails that wait or were sent, and describes their table.
package mails

import "github.com/cascadapay/cascada/internal/store/base"

// OfMails has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfMails struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfMails { return OfMails{b} }
