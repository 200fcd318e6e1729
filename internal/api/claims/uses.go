// Package claims has the endpoints of refunds and claims with their evidence.
package claims

import (
	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/app/base"
	appclaims "github.com/cascadapay/cascada/internal/app/claims"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	*base.Base
	Claims *appclaims.Claims
}

type api struct {
	*call.API
	uses Uses
}

// Register adds the endpoints of refunds and claims.
func Register(to *call.API, uses Uses) {
	a := &api{API: to, uses: uses}
	a.refundRoutes()
	a.claimRoutes()
	a.Tighten(publish)
}
