// Package settlements has the endpoints of the balance and of settlements.
package settlements

import (
	"github.com/cascadapay/cascada/internal/api/call"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/plans"
	apprates "github.com/cascadapay/cascada/internal/app/rates"
	appsettlements "github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/pay/rates"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	*base.Base
	Plans       *plans.Plans
	Rates       *apprates.Rates
	RateLimits  rates.Limits
	Settlements *appsettlements.Settlements
	Payouts     *payouts.Payouts
}

type api struct {
	*call.API
	uses Uses
}

// Register adds the endpoints of the balance and of settlements.
func Register(to *call.API, uses Uses) {
	a := &api{API: to, uses: uses}
	a.balanceRoutes()
	a.settlementRoutes()
}
