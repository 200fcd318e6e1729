// Package payouts has the operators' operations on withdrawals, their limits, the batches for banks, and floats.
package payouts

import (
	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/overview"
	"github.com/cascadapay/cascada/internal/app/payouts"
)

// Uses are the use cases that the operations call.
type Uses struct {
	*base.Base
	Batches   *payouts.Batches
	Floats    *payouts.Floats
	Lists     *overview.Lists
	Payouts   *payouts.Payouts
	Providers *accounts.Providers
}

type api struct {
	*call.API
	Uses Uses
}

// Register registers the operations.
func Register(to *call.API, uses Uses) {
	a := &api{to, uses}
	for _, routes := range []func(){a.batchRoutes, a.floatRoutes, a.limitRoutes, a.resolutionRoutes, a.withdrawalRoutes} {
		routes()
	}
}
