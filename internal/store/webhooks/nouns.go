// Package webhooks reads events, endpoints, deliveries with their fan-outs, replays and inboxes. It
// describes their tables.
//
// It sends nothing, and changes go through the queue.
package webhooks

import "github.com/cascadapay/cascada/internal/store/base"

// OfWebhooks are the nouns of the package. A Store embeds them.
type OfWebhooks struct {
	Events        *Events
	Subscriptions *Subscriptions
	Deliveries    *Deliveries
	Replays       *Replays
}

// NewWebhooks returns the nouns of a database.
func NewWebhooks(b *base.Base) OfWebhooks {
	return OfWebhooks{
		Events:        &Events{b},
		Subscriptions: &Subscriptions{b},
		Deliveries:    &Deliveries{b},
		Replays:       &Replays{b},
	}
}
