// Package accounts has the operators' operations on the accounts at providers: their health, the rules and rates by which payments go there, and the comparison with their reports.
package accounts

import (
	"github.com/cascadapay/cascada/internal/admin/call"
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/overview"
	"github.com/cascadapay/cascada/internal/app/rates"
	"github.com/cascadapay/cascada/internal/app/reconciliation"
	"github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/provider"
)

// Uses are the use cases that the operations call.
type Uses struct {
	*base.Base
	Accounts       *accounts.Accounts
	Adapters       []provider.Adapter
	Lists          *overview.Lists
	Providers      *accounts.Providers
	Rates          *rates.Rates
	Reconciliation *reconciliation.Reconciliation
	Rules          *routing.Rules
}

type api struct {
	*call.API
	Uses Uses
}

// Register registers the operations.
func Register(to *call.API, uses Uses) {
	a := &api{to, uses}
	for _, routes := range []func(){a.accountRoutes, a.healthRoutes, a.rateRoutes, a.reconciliationRoutes, a.ruleRoutes} {
		routes()
	}
}
