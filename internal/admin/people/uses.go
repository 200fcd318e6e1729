// Package people has the operators' operations on users of the dashboard, operators, and what needs two of them.
package people

import (
	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/people"
)

// Uses are the use cases that the operations call.
type Uses struct {
	*base.Base
	Keys      *auth.Keys
	Links     *people.Links
	Operators *auth.Operators
	People    *people.People
	Team      *people.Team
}

type api struct {
	*call.API
	Uses Uses
}

// Register registers the operations.
func Register(to *call.API, uses Uses) {
	a := &api{to, uses}
	for _, routes := range []func(){a.dualControlRoutes, a.operatorRoutes, a.userRoutes} {
		routes()
	}
}
