package developers

import (
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/requests"
	"github.com/cascadapay/cascada/internal/app/sandbox"
	"github.com/cascadapay/cascada/internal/app/webhooks"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Keys     *auth.Keys
	Webhooks *webhooks.Webhooks
	Events   *webhooks.Events
	Replays  *webhooks.Replays
	Sandbox  *sandbox.Sandbox
	Requests *requests.Log
}
