// Package claims has the operators' operations on refunds, chargebacks and inquiries, and notifications that need a person.
package claims

import (
	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/notices"
	"github.com/cascadapay/cascada/internal/app/overview"
)

// Uses are the use cases that the operations call.
type Uses struct {
	Claims  *claims.Claims
	Lists   *overview.Lists
	Notices *notices.Notices
}

type api struct {
	*call.API
	Uses Uses
}

// Register registers the operations.
func Register(to *call.API, uses Uses) {
	a := &api{to, uses}
	for _, routes := range []func(){a.claimRoutes, a.notificationRoutes, a.resolutionRoutes} {
		routes()
	}
}
