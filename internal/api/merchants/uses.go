// Package merchants has what a merchant reads of itself: profile, shops, keys, last requests.
package merchants

import (
	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/app/base"
	appmerchants "github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/methods"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/requests"
	"github.com/cascadapay/cascada/internal/app/settlements"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	*base.Base
	Plans       *plans.Plans
	Onboarding  *appmerchants.Onboarding
	Methods     *methods.Methods
	Settlements *settlements.Settlements
	Requests    *requests.Log
}

type api struct {
	*call.API
	uses Uses
}

// Register adds the endpoints by which a merchant reads its profile, shops, keys and last requests.
func Register(to *call.API, uses Uses) {
	a := &api{API: to, uses: uses}
	a.routes()
}
