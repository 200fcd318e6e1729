// Package webhooks reads events, endpoints, deliveries with their fan-outs, replays and inboxes. It
// describes their tables.
//
// It sends nothing, and changes go through the queue.
package webhooks

import "github.com/cascadapay/cascada/internal/store/base"

// OfWebhooks has the nouns of the package. The file of each noun has the method that returns it. A Store embeds this type.
type OfWebhooks struct{ b *base.Base }

// New returns the nouns of a database.
func New(b *base.Base) OfWebhooks { return OfWebhooks{b} }
