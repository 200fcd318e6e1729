package webhooks

import (
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/webhooks"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Webhooks *webhooks.Webhooks
	Events   *webhooks.Events
	Replays  *webhooks.Replays
}
