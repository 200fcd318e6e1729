package developers

import (
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/requests"
	"github.com/cascadapay/cascada/internal/app/sandbox"
)

// Uses are the use cases that the pages call.
type Uses struct {
	*base.Base
	Keys     *auth.Keys
	Sandbox  *sandbox.Sandbox
	Requests *requests.Log
}
