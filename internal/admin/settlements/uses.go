// Package settlements has the operators' operations on what merchants earned, and adjustments by hand.
package settlements

import (
	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/overview"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/settlements"
)

// Uses are the use cases that the operations call.
type Uses struct {
	*base.Base
	Adjustments *settlements.Adjustments
	Lists       *overview.Lists
	Payouts     *payouts.Payouts
	Settlements *settlements.Settlements
}

type api struct {
	*call.API
	Uses Uses
}

// Register registers the operations.
func Register(to *call.API, uses Uses) {
	a := &api{to, uses}
	for _, routes := range []func(){a.adjustmentRoutes, a.settlementRoutes} {
		routes()
	}
}
