package admin

import (
	"github.com/cascadapay/cascada/internal/app/accounts"
	"github.com/cascadapay/cascada/internal/app/auth"
	"github.com/cascadapay/cascada/internal/app/base"
	"github.com/cascadapay/cascada/internal/app/claims"
	"github.com/cascadapay/cascada/internal/app/leaving"
	"github.com/cascadapay/cascada/internal/app/merchants"
	"github.com/cascadapay/cascada/internal/app/payments"
	"github.com/cascadapay/cascada/internal/app/payouts"
	"github.com/cascadapay/cascada/internal/app/plans"
	"github.com/cascadapay/cascada/internal/app/routing"
	"github.com/cascadapay/cascada/internal/app/settlements"
	"github.com/cascadapay/cascada/internal/provider"
)

// Uses are the use cases that the endpoints call.
type Uses struct {
	*base.Base
	Plans       *plans.Plans
	Operators   *auth.Operators
	Onboarding  *merchants.Onboarding
	Leaving     *leaving.Leaving
	Providers   *accounts.Providers
	Rules       *routing.Rules
	Accounts    *accounts.Accounts
	Payments    *payments.Payments
	Claims      *claims.Claims
	Adjustments *settlements.Adjustments
	Payouts     *payouts.Payouts
	Adapters    []provider.Adapter
}
