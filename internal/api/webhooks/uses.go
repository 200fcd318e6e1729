// Package webhooks has the endpoints of webhooks, deliveries, events and replays, and the managed inboxes.
package webhooks

import (
	"github.com/cascadapay/cascada/internal/api/call"
	appwebhooks "github.com/cascadapay/cascada/internal/app/webhooks"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	Webhooks *appwebhooks.Webhooks
	Events   *appwebhooks.Events
	Replays  *appwebhooks.Replays
}

type api struct {
	*call.API
	uses Uses
}

// Register adds the endpoints of webhooks, deliveries, events and replays.
func Register(to *call.API, uses Uses) {
	a := &api{API: to, uses: uses}
	a.webhookRoutes()
	a.eventRoutes()
	a.Tighten(publish)
}
